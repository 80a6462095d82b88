import { inSpecPaths } from '../crd/spec-words.ts'
import { containerOf, type EndedAttempt } from './attempt.ts'
import { claimOf, filesFolder, storageFolder } from './job-needs.ts'
import { jobFilePath } from './job-pod.ts'
import type { Pod } from './kube-job.ts'
import { kubectlIn } from './names.ts'
import { cutText } from './pod-result.ts'

export interface Explanation {
  /** One word, as the reason of a condition. */
  reason: string
  /** With what to do. */
  message: string
}

const MAX_FOREIGN_TEXT = 300
const PARTLY_DONE = 4
const DAMAGED = 3
const KILLED = 137
const INTERRUPTED = [130, 143]

/** Pure. Why the Job does not succeed, from the last pods of its shards; undefined if none has failed. */
export function explainFailure(newest: readonly EndedAttempt[]): Explanation | undefined {
  const cause = findCause(newest.filter(({ ended }) => !ended.isSuccess))
  return cause && explainAttempt(cause)
}

/** A permanent failure explains most; a pod that was stopped explains least, because another failure caused that. */
function findCause(failed: readonly EndedAttempt[]): EndedAttempt | undefined {
  const rank = ({ ended }: EndedAttempt) => {
    if (isPermanentFailure(ended)) return 0
    return INTERRUPTED.includes(ended.exitCode ?? -1) ? 2 : 1
  }
  return failed.toSorted((a, b) => rank(a) - rank(b) || b.ended.finishedMs - a.ended.finishedMs)[0]
}

/** The process reported that a retry would fail in the same way. */
export function isPermanentFailure({ isSuccess, result }: EndedAttempt['ended']): boolean {
  return !isSuccess && result !== undefined && result.exit !== 0 && !result.isRetryable
}

function explainAttempt(attempt: EndedAttempt): Explanation {
  const { result, exitCode } = attempt.ended
  if (!result) return explainWithoutResult(attempt)
  const { code, command, message, help } = result
  const stop = INTERRUPTED.includes(exitCode ?? -1) ? explainStop(attempt.pod) : undefined
  if (stop) return { reason: stop.reason, message: sentences(stop.message, help) }
  const said = sentences(message || `the process ended with exit code ${exitCode}`, help)
  const cause = inWordsOfResource(said, attempt.pod)
  if (exitCode === PARTLY_DONE)
    return { reason: 'Partial', message: sentences('The run is only partially done', cause) }
  return { reason: code ?? reasonOf(command, exitCode), message: cause }
}

/** For a result without an error code. */
function reasonOf(command: string, exitCode: number | undefined): string {
  if (command === 'check') return 'CheckFailed'
  if (exitCode !== DAMAGED) return command.startsWith('drill') ? 'NotProven' : 'PodFailed'
  return command === 'offsets verify' ? 'DifferenceFound' : 'DamageFound'
}

/** The operator makes the job file and what is mounted in a pod: the reader of a status knows only the resource. */
function inWordsOfResource(text: string, pod: Pod): string {
  const claim = claimOf(pod)
  const known = text
    .replaceAll(jobFilePath, 'the resource')
    .replaceAll(/\bthe job file\b/g, 'the resource')
    .replaceAll(/ \[line \d+\]/g, '')
    .replaceAll(`${filesFolder}/`, '')
  const placed = claim === undefined ? known : known.replaceAll(storagePath, `pvc ${claim}`)
  return inSpecPaths(placed)
}

/** Not in the middle of a path. */
const storagePath = new RegExp(`(?<![\\w./-])${storageFolder}(?![\\w.-])`, 'g')

function explainWithoutResult({ pod, ended }: EndedAttempt): Explanation {
  const { name } = pod.metadata
  const terminated = containerOf(pod)?.state?.terminated
  const text = terminated?.message ?? ''
  if (terminated?.reason === 'OOMKilled' || isHeapExhausted(text)) {
    return { reason: 'OutOfMemory', message: `Pod ${name} needed more memory than its limit. ${memoryHelp}` }
  }
  const stop = explainStop(pod)
  if (stop) return stop
  if (terminated && /^(StartError|ContainerCannotRun)$/.test(terminated.reason ?? '')) {
    return { reason: 'ContainerCannotRun', message: sentences(`Pod ${name} cannot start`, foreign(text)) }
  }
  const look = `\`${kubectlIn(pod.metadata)} logs ${name}\` may show more.`
  if (ended.exitCode === KILLED) {
    const why = 'was killed before it could report a cause: by its node, its memory limit or a SIGKILL'
    return { reason: 'Killed', message: sentences(`Pod ${name} ${why}`, look) }
  }
  const how = ended.exitCode === undefined ? 'before its process began' : `with exit code ${ended.exitCode}`
  const said = foreign(pod.status?.message)
  return { reason: 'PodFailed', message: sentences(`Pod ${name} ended ${how} and left no result`, said, look) }
}

/** Why Kubernetes stopped the pod, if it did. The process itself only knows the signal. */
function explainStop(pod: Pod): Explanation | undefined {
  const { name } = pod.metadata
  if (pod.status?.reason === 'Evicted')
    return { reason: 'Evicted', message: sentences(`Pod ${name} was evicted`, foreign(pod.status.message)) }
  const disruption = disruptionOf(pod)
  if (!disruption) return undefined
  return { reason: 'Disrupted', message: sentences(`Pod ${name} was disrupted`, foreign(disruption.message)) }
}

/** The JavaScript engine reports it nowhere but in the log, whose end Kubernetes keeps for a process without a result. */
function isHeapExhausted(log: string): boolean {
  return /heap out of memory|Reached heap limit/i.test(log)
}

/** Why the pod was disrupted, if it was; such an attempt does not count. */
export function disruptionOf({ status }: Pod): { message?: string } | undefined {
  return status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
}

const memoryHelp = 'Raise spec.resources.limits.memory, or lower spec.backup.memoryBudget or spec.restore.memoryBudget.'

/** Text of Kubernetes, with names of users and machines. */
function foreign(text: string | undefined): string {
  return cutText(text ?? '', MAX_FOREIGN_TEXT)
}

/** Joins texts to sentences. */
export function sentences(...parts: readonly string[]): string {
  const said = parts.filter(part => part !== '')
  return said.map((part, at) => (at === said.length - 1 || /[.!?\u2026:]$/.test(part) ? part : `${part}.`)).join(' ')
}
