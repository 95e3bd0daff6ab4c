-- Health of every resource of galera-operator.io, for Argo CD. It says what kstatus says, and Suspended for what a person has stopped.
local function condition(kind)
  for _, c in ipairs(obj.status.conditions or {}) do
    if c.type == kind then return c end
  end
  return { status = "Unknown", reason = "", message = "" }
end

if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "it is being deleted" }
end
if obj.status == nil or obj.status.conditions == nil then
  return { status = "Progressing", message = "waiting for the operator" }
end
-- Newer than what the operator has acted on. While a cluster is paused, that does not change.
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "waiting for the operator to see the change" }
end

local stalled = condition("Stalled")
if stalled.status == "True" then
  if stalled.reason == "Paused" or stalled.reason == "ClusterPaused" then
    return { status = "Suspended", message = stalled.message }
  end
  return { status = "Degraded", message = stalled.reason .. ": " .. stalled.message }
end

local reconciling = condition("Reconciling")
if reconciling.status == "True" then
  return { status = "Progressing", message = reconciling.message }
end

local ready = condition("Ready")
if ready.reason == "Hibernated" or (obj.spec ~= nil and obj.spec.suspend == true) then
  return { status = "Suspended", message = ready.message }
end
if ready.status == "False" then
  return { status = "Progressing", message = ready.reason .. ": " .. ready.message }
end
return { status = "Healthy", message = ready.message }
