import type { BackupJob } from '../config/load-job.ts'
import { toKafkaBackupError } from '../errors.ts'
import { formatUtc, systemClock } from '../lib/clock.ts'
import { formatCount } from '../lib/units.ts'
import type { OnProgress } from '../observe/progress.ts'
import { Redactor, secretsIn } from '../observe/redact.ts'
import { type Notification, notify, type Webhook } from '../observe/webhook.ts'
import { version } from '../version.ts'
import type { Hooks } from './parts.ts'

/** A run that ends for this long after its failure: the message must not hold up the next try for longer. */
const SEND_MS = 60_000
const NAMED_TOPICS = 5

type NotifyingJob = Pick<BackupJob, 'backupId' | 'monitoring'>

/** Posts to the webhooks of a job, where it has some; answers with warnings. */
export async function notifyWebhooks(job: NotifyingJob, about: Omit<Notification, 'backupId'>): Promise<string[]> {
  const webhooks: readonly Webhook[] = job.monitoring?.webhooks ?? []
  if (webhooks.length === 0) return []
  const redactor = new Redactor([...secretsIn(job), ...webhooks.map(({ url }) => url)])
  const parts = { clock: systemClock, version, redactor, time: formatUtc(systemClock.now()) }
  // Not the signal of the run, which may be what ended it.
  return notify(webhooks, { ...about, backupId: job.backupId }, parts, AbortSignal.timeout(SEND_MS))
}

/** Runs a backup, and posts its failure and its new gaps to the webhooks of its job. */
export async function withNotifications<T>(
  job: NotifyingJob,
  hooks: Hooks,
  signal: AbortSignal,
  work: (hooks: Hooks) => Promise<T>,
): Promise<T> {
  if ((job.monitoring?.webhooks ?? []).length === 0 || hooks.isReadOnly) return work(hooks)
  const gaps = new GapMessages(job, hooks.onProgress)
  try {
    return await work({
      ...hooks,
      onProgress: event => {
        gaps.onProgress(event)
        hooks.onProgress(event)
      },
    })
  } catch (error) {
    // One that was stopped did not fail.
    if (!signal.aborted) {
      const { code, message, help } = toKafkaBackupError(error)
      warn(hooks.onProgress, await notifyWebhooks(job, { event: 'failure', code, message, help }))
    }
    throw error
  } finally {
    await gaps.close()
  }
}

/** One message for the gaps of a commit, so that a continuous backup reports them while it runs. */
class GapMessages {
  readonly #job: NotifyingJob
  readonly #onProgress: OnProgress
  #topics = new Map<string, number>()
  #sending: Promise<void> = Promise.resolve()

  constructor(job: NotifyingJob, onProgress: OnProgress) {
    this.#job = job
    this.#onProgress = onProgress
  }

  onProgress: OnProgress = event => {
    if (event.type === 'gap') this.#topics.set(event.topic, (this.#topics.get(event.topic) ?? 0) + 1)
    if (event.type === 'committed') this.#send()
  }

  async close(): Promise<void> {
    this.#send()
    await this.#sending
  }

  #send(): void {
    const topics = [...this.#topics]
    this.#topics = new Map()
    if (topics.length === 0) return
    const count = topics.reduce((sum, [, gaps]) => sum + gaps, 0)
    const named = topics.slice(0, NAMED_TOPICS).map(([topic, gaps]) => `${topic} (${formatCount(gaps)})`)
    const more = topics.length > NAMED_TOPICS ? ` and ${formatCount(topics.length - NAMED_TOPICS)} more topics` : ''
    const message = `${formatCount(count)} new ${count === 1 ? 'gap' : 'gaps'}: the source lost records before they were read: ${named.join(', ')}${more}`
    const help = `Run \`kafka-backup describe ${this.#job.backupId}\`, and run the backup more often than records expire.`
    this.#sending = this.#sending.then(async () => {
      warn(this.#onProgress, await notifyWebhooks(this.#job, { event: 'gap', message, help }))
    })
  }
}

function warn(onProgress: OnProgress, warnings: readonly string[]): void {
  for (const message of warnings) onProgress({ type: 'warning', message })
}
