"""What GitHub shows and mkdocs does not: hooks of mkdocs.yml.

Pages are written for both. The hooks change a page's text on its way into the site, and no file.
"""

import os
import posixpath
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"(`[^`\n]+`)")
ITEM = re.compile(r"([*-]|\d+\.) ")
MERMAID = "assets/mermaid.min.js"


def on_config(config):
    """The pictures' program comes with the site (hack/docs.sh fetches it), so that a reader asks no other server."""
    config.extra_javascript.append(MERMAID)


def on_files(files, config):
    files.append(File.generated(config, MERMAID, abs_src_path=os.environ["MERMAID"]))


def on_page_markdown(markdown, page, config, files):
    out, fenced, last = [], False, ""
    for line in markdown.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            line = re.sub(r"^(```\w+) test$", r"\1", line)
        elif not fenced:
            if starts_block(line, last):
                out.append("")
            line = "".join(changed(part, line, page, config, files) for part in SPAN.split(line))
        out.append(line)
        last = line
    return "\n".join(out)


def starts_block(line, last):
    """A list or a table right below a line of text: GitHub begins it there, mkdocs needs a blank line."""
    if not last.strip() or last.startswith((" ", "|")):
        return False
    return bool(ITEM.match(line)) and not ITEM.match(last) or line.startswith("|")


def changed(part, line, page, config, files):
    if part.startswith("`"):
        return part.replace(r"\|", "|") if line.startswith("|") else part
    return LINK.sub(lambda m: "](" + target(m.group(1), page, config, files) + ")", part)


def target(link, page, config, files):
    """A file outside of docs/, or a folder, is shown by GitHub. What does not exist stays as it is, and fails the build."""
    path, _, anchor = link.partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return link
    tree = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), path))
    if tree.startswith("docs/") and files.get_file_from_path(tree[len("docs/"):]):
        return link
    full = os.path.join(ROOT, tree)
    if tree.startswith("..") or not os.path.exists(full):
        return link
    kind = "tree" if os.path.isdir(full) else "blob"
    return f"{config.repo_url}/{kind}/main/{tree}" + (f"#{anchor}" if anchor else "")
