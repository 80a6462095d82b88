import { usageError } from '../errors.ts'
import { parseQuantity } from '../operator/job/heap-limit.ts'
import { type PodDefaults, podFields } from '../operator/job/pod-defaults.ts'
import type { ServeOptions } from '../operator/run/serve-operator.ts'
import type { CommandOptions } from './option-specs.ts'

type PodOptions = Pick<ServeOptions['job'], 'resources' | 'podDefaults'>

/** What `--job-resources` and `--job-pod-defaults` set. Kubernetes would reject each Job for a mistake, so it is reported at the start. */
export function readPodOptions({ jobResources = '{}', jobPodDefaults = '{}' }: CommandOptions): PodOptions {
  const resources = readObject('--job-resources', jobResources)
  refuseUnknown('--job-resources', resources, ['requests', 'limits'])
  for (const [group, amounts] of Object.entries(resources)) checkAmounts(`--job-resources: ${group}`, amounts)
  const podDefaults: PodDefaults = readObject('--job-pod-defaults', jobPodDefaults)
  refuseUnknown('--job-pod-defaults', podDefaults, podFields)
  checkTypes(podDefaults)
  return {
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(Object.keys(podDefaults).length > 0 && { podDefaults }),
  }
}

function readObject(option: string, text: string): Record<string, unknown> {
  const refusal = usageError(`${option} is not a JSON object: use one such as {"limits":{"memory":"1Gi"}}`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refusal
  }
  if (!isObject(value)) throw refusal
  return value
}

function refuseUnknown(option: string, value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find(name => !known.includes(name))
  if (unknown === undefined) return
  throw usageError(`${option}: unknown field ${JSON.stringify(unknown)}: use ${known.join(', ')}`)
}

function checkAmounts(where: string, amounts: unknown): void {
  if (!isObject(amounts)) throw usageError(`${where} is not an object of amounts: use one such as {"memory":"1Gi"}`)
  for (const [name, amount] of Object.entries(amounts)) {
    const isAmount = (typeof amount === 'string' || typeof amount === 'number') && parseQuantity(amount) !== undefined
    if (isAmount) continue
    throw usageError(`${where}.${name}: ${JSON.stringify(amount)} is not an amount: use one such as "500m" or "1Gi"`)
  }
}

const lists = ['tolerations', 'topologySpreadConstraints', 'hostAliases']
const texts = ['priorityClassName', 'runtimeClassName', 'schedulerName', 'dnsPolicy']

function checkTypes(defaults: PodDefaults): void {
  for (const [name, value] of Object.entries(defaults)) {
    const [isRight, expected] = lists.includes(name)
      ? [Array.isArray(value) && value.every(isObject), 'a list of objects']
      : texts.includes(name)
        ? [typeof value === 'string', 'text']
        : [isObject(value), 'an object']
    if (!isRight) throw usageError(`--job-pod-defaults: ${name} is not ${expected}`)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
