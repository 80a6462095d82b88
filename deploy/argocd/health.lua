-- Health of the kinds of kafka-backup for Argo CD, see docs/gitops.md.
local conditions = {}
if obj.status ~= nil then
  for _, condition in ipairs(obj.status.conditions or {}) do
    conditions[condition.type] = condition
  end
end
local ready, stalled, reconciling = conditions.Ready, conditions.Stalled, conditions.Reconciling
local function health(status, condition)
  return { status = status, message = condition.reason .. ": " .. condition.message }
end
if ready == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "The operator has not observed this version of the spec." }
end
if stalled ~= nil and stalled.status == "True" then
  return health("Degraded", stalled)
end
if ready.status == "True" then
  return health(ready.reason == "Suspended" and "Suspended" or "Healthy", ready)
end
if reconciling ~= nil and reconciling.status == "True" then
  return health("Progressing", reconciling)
end
return health("Degraded", ready)
