import java.nio.file.*;
import java.sql.*;
import java.util.Properties;

class Jdbc {
    public static void main(String[] args) throws Exception {
        Path b = Path.of(args[0]);
        Properties account = new Properties();
        account.put("user", Files.readString(b.resolve("username")));
        account.put("password", Files.readString(b.resolve("password")));
        if (args.length > 1) { // openssl pkcs12 -export -in tls.crt -inkey tls.key -out FILE -passout pass:WORD
            account.put("keyStore", args[1]);
            account.put("keyStorePassword", args[2]);
        }
        try (Connection db = DriverManager.getConnection(Files.readString(b.resolve("jdbc-url")), account)) {
            db.createStatement().execute(System.getenv("SQL"));
        }
    }
}
