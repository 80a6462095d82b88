/** Pod fields that the operator does not set itself: they come from the resource, or from the operator settings. */
export const podFields = [
  'nodeSelector',
  'tolerations',
  'affinity',
  'topologySpreadConstraints',
  'priorityClassName',
  'runtimeClassName',
  'schedulerName',
  'hostAliases',
  'dnsPolicy',
  'dnsConfig',
] as const

export type PodDefaults = Partial<Record<(typeof podFields)[number], unknown>>

/** A spread constraint without a label selector applies to the pods of the same resource; Kubernetes would ignore it. */
export function placementDefaults(defaults: PodDefaults = {}, labels: Readonly<Record<string, string>>): PodDefaults {
  const { topologySpreadConstraints: spread } = defaults
  if (!Array.isArray(spread)) return defaults
  const name = Object.keys(labels).find(key => key.endsWith('/resource'))
  const matchLabels = name === undefined ? {} : { [name]: labels[name] }
  const filled = spread.map(one => ({ labelSelector: { matchLabels }, ...one }))
  return { ...defaults, topologySpreadConstraints: filled }
}
