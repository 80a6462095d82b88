import type { BackupJob, ClusterlessJob, ClusterlessJobOf, Job, JobOptions, RestoreJob } from '../config/load-job.ts'
import type { GivenKeys } from '../jobs/encryption.ts'
import { formatJson, formatJsonPieces } from '../lib/json.ts'
import type { Log } from '../observe/log.ts'
import type { OnProgress } from '../observe/progress.ts'
import { type Redactor, secretsIn } from '../observe/redact.ts'
import type { Actions } from './actions.ts'
import type { Io } from './io.ts'
import { logEvent } from './log-events.ts'
import type { CommandOptions } from './option-specs.ts'
import { type OutputStyle, outputStyleOf } from './output-style.ts'
import { noProgress, openBar, openLines, type Progress } from './progress.ts'
import type { ResultBuilder } from './result/result-builder.ts'
import type { Screen } from './screen.ts'
import { terminalText } from './text.ts'

/** Records are gathered, since a write for each would cost more than reading them. */
const PRINTED_BYTES = 64 << 10
const PRINTED_MS = 200

/** A command: does its work through the session and answers with the exit code. */
export type RunCommand = (session: Session) => Promise<number>

interface SessionParts {
  options: CommandOptions
  actions: Actions
  signal: AbortSignal
  log: Log
  redactor: Redactor
  io: Io
  screen: Screen
  outcome: ResultBuilder
}

/** What a command has at hand while it runs. */
export class Session {
  readonly options: CommandOptions
  readonly actions: Actions
  readonly signal: AbortSignal
  readonly log: Log
  /** What the result file tells of the run. */
  readonly outcome: ResultBuilder
  readonly env: Io['env']
  readonly clock: Io['clock']
  /** Of standard output. */
  readonly style: OutputStyle
  readonly #io: Io
  readonly #screen: Screen
  readonly #redactor: Redactor
  #isOutputClosed = false

  constructor(parts: SessionParts) {
    this.options = parts.options
    this.actions = parts.actions
    this.signal = parts.signal
    this.log = parts.log
    this.outcome = parts.outcome
    this.outcome.isAbout(parts.options.backupId)
    if (parts.options.dryRun) this.outcome.note({ totals: { dry_run: true } })
    this.style = outputStyleOf(parts.io.stdout, parts.io.env)
    this.env = parts.io.env
    this.clock = parts.io.clock
    this.#io = parts.io
    this.#screen = parts.screen
    this.#redactor = parts.redactor
  }

  /** The job file; its secrets appear in no line from now on. */
  loadJob(path: string): Promise<Job> {
    return this.#load(options => this.actions.loadJob(path, options))
  }

  /** The same for a command that makes backups: a job of another mode is refused. */
  loadBackupJob(path: string): Promise<BackupJob> {
    return this.#load(options => this.actions.loadBackupJob(path, options))
  }

  /** A job that is not in a file yet, with variables that only this run knows. Those of the environment win. */
  async parseBackupJob(text: string, source: string, known: Record<string, string>): Promise<BackupJob> {
    const env = { ...known, ...this.#io.env }
    return this.#load(() => this.actions.parseBackupJob(text, { source, env }))
  }

  async parseRestoreJob(text: string, source: string, known: Record<string, string>): Promise<RestoreJob> {
    const env = { ...known, ...this.#io.env }
    return this.#load(() => this.actions.parseRestoreJob(text, { source, env }))
  }

  /** Texts that appear in no line from now on. */
  hide(secrets: readonly string[]): void {
    this.#redactor.add(secrets)
  }

  /** The same for a command that is about a restore. */
  loadRestoreJob(path: string): Promise<RestoreJob> {
    return this.#load(options => this.actions.loadRestoreJob(path, options))
  }

  /** The keys of `--key-file`. Warns where no backup needed them: an encrypted one may have been replaced with a plain one. */
  givenKeys(): GivenKeys {
    const { keyFile: keyFiles } = this.options
    if (keyFiles.length === 0) return {}
    const onUnusedKey = (backupIds: readonly string[]) => {
      const { length } = backupIds
      const which =
        length > 1 ? `none of the ${length} backups that were read is` : `the backup \`${backupIds[0]}\` is not`
      this.log.write(
        'warn',
        `${which} encrypted: --key-file was not used to read ${length > 1 ? 'them' : 'it'}; a backup that should be encrypted may have been replaced`,
      )
    }
    return { keyFiles, onUnusedKey }
  }

  /** The same for a command that does not contact Kafka: the job needs no cluster. Of one mode where it is given. */
  async loadClusterlessJob<M extends Job['mode'] = Job['mode']>(path: string, mode?: M): Promise<ClusterlessJobOf<M>> {
    const job = await this.#load(options =>
      this.actions.loadClusterlessJob(path, { ...options, ...(mode && { mode }) }),
    )
    return job as ClusterlessJobOf<M>
  }

  /** A second job file, next to that of `--config`. `--set` does not apply to it. */
  loadOtherClusterlessJob(path: string): Promise<ClusterlessJob> {
    return this.#load(options => this.actions.loadClusterlessJob(path, { ...options, set: [] }))
  }

  /** A secret of the environment, which appears in no line from now on; undefined where it is not set. */
  secret(variable: string): string | undefined {
    const value = this.#io.env[variable]
    if (value) this.#redactor.add([value])
    return value || undefined
  }

  /** Whether an environment variable is there, also if it is empty. */
  isSet(variable: string): boolean {
    return this.#io.env[variable] !== undefined
  }

  /** Logs and counts an event: for work that shows no progress. */
  readonly onProgress: OnProgress = event => {
    this.outcome.onProgress(event)
    logEvent(this.log, event)
  }

  /** Calls back with a listener that shows and logs events. Shows `preparing` until there is a plan. */
  async withProgress<T>(
    label: string,
    preparing: string,
    work: (onProgress: Progress['onProgress']) => Promise<T>,
  ): Promise<T> {
    const progress = this.#openProgress(label, preparing)
    let isDone = false
    try {
      const result = await work(event => {
        progress.onProgress(event)
        this.onProgress(event)
      })
      isDone = true
      return result
    } finally {
      progress.close(isDone)
    }
  }

  /** Whether there is a terminal to confirm on. */
  get canAsk(): boolean {
    return this.#io.ask !== undefined && this.options.logFormat !== 'json'
  }

  /** Whether the answer on the terminal is yes. */
  async confirm(question: string): Promise<boolean> {
    return /^\s*y(es)?\s*$/i.test(await this.#ask(`${question} [y/N] `))
  }

  /** Whether the answer on the terminal is this very text. */
  async confirmByTyping(question: string, text: string): Promise<boolean> {
    return (await this.#ask(`${question} `)).trim() === text
  }

  /** The line that is typed on the terminal. */
  question(question: string): Promise<string> {
    return this.#ask(question)
  }

  /** Empties a terminal; does nothing elsewhere. */
  clearScreen(): void {
    this.#io.clearScreen?.()
  }

  /** The result, in the format that was asked for. */
  print(lines: () => readonly string[], document: () => unknown): void {
    const text = this.options.format === 'json' ? formatJson(document(), 2) : lines().join('\n')
    this.#screen.writeElsewhere(() => this.#io.stdout.write(`${text}\n`))
  }

  /** The same for one that may have hundreds of megabytes of JSON. */
  async printLong(lines: () => readonly string[], document: () => unknown): Promise<void> {
    if (this.options.format !== 'json') return this.print(lines, document)
    await this.printAll(asLine(formatJsonPieces(document())))
  }

  /** A result that may be of any length, in pieces. Ends early if the reader has closed the output. On a terminal, control characters are escaped. */
  async printAll(pieces: AsyncIterable<Buffer>): Promise<void> {
    const { stdout } = this.#io
    const write = (bytes: Buffer) => {
      const shown = stdout.isTTY ? Buffer.from(terminalText(bytes.toString('utf8'))) : bytes
      return this.#screen.withoutStatus(() => this.#io.writeBytes(shown))
    }
    let held: Buffer[] = []
    let size = 0
    let written: Promise<void> = Promise.resolve()
    let cancel = () => {}
    const flush = () => {
      cancel()
      const bytes = Buffer.concat(held)
      held = []
      size = 0
      written = written.then(async () => {
        if (bytes.length > 0 && !this.#isOutputClosed) this.#isOutputClosed = !(await write(bytes))
      })
      // A failure is thrown where it is waited for.
      written.catch(() => undefined)
      return written
    }
    try {
      for await (const piece of pieces) {
        // Records that are rarely found do not wait for others.
        if (held.length === 0) cancel = this.clock.after(PRINTED_MS, flush)
        held.push(piece)
        size += piece.length
        // People on a terminal wait for each.
        if (stdout.isTTY || size >= PRINTED_BYTES) await flush()
        await written
        if (this.#isOutputClosed) return
      }
    } finally {
      // Also what came before damage, or before an interruption.
      await flush()
    }
  }

  /** Whether the reader of what `printAll` wrote did not take all of it, as `head` does. */
  get isOutputClosed(): boolean {
    return this.#isOutputClosed
  }

  /** A text that repeats options of the command line, which may have secrets. */
  withoutSecrets(text: string): string {
    return this.#redactor.text(text)
  }

  /** The result as it may be kept elsewhere: without the secrets of the job. */
  formatKept(document: unknown): string {
    return `${formatJson(this.#redactor.value(document), 2)}\n`
  }

  /** Warnings that were not events. */
  warn(messages: readonly string[]): void {
    for (const message of messages) this.onProgress({ type: 'warning', message })
  }

  /** Prints lines for people to standard error; false, and prints nothing, if standard error is for programs. */
  tell(lines: (style: OutputStyle) => readonly string[]): boolean {
    if (this.options.logFormat === 'json') return false
    const { stderr, env } = this.#io
    this.#screen.write(`${this.#redactor.text(lines(outputStyleOf(stderr, env)).join('\n'))}\n`)
    return true
  }

  async #ask(question: string): Promise<string> {
    const { ask } = this.#io
    return ask ? this.#screen.withoutStatus(() => ask(question, this.signal)) : ''
  }

  async #load<J extends ClusterlessJob>(load: (options: JobOptions) => Promise<J>): Promise<J> {
    const job = await load({ env: this.#io.env, set: this.options.set })
    this.#redactor.add([...secretsIn(job), ...webhookUrls(job)])
    this.outcome.isAbout(job.backupId)
    return job
  }

  #openProgress(label: string, preparing: string): Progress {
    const { stderr, env, clock } = this.#io
    if (this.options.quiet || !this.options.progress) return noProgress
    if (this.options.logFormat === 'json') return openLines(label, line => this.log.write('info', line), clock)
    if (!stderr.isTTY || env.TERM === 'dumb') return openLines(label, line => this.#screen.write(`${line}\n`), clock)
    return openBar(label, preparing, this.#screen, () => outputStyleOf(stderr, env), clock)
  }
}

/** Who knows one can post to it. */
function webhookUrls(job: ClusterlessJob): string[] {
  return 'monitoring' in job ? (job.monitoring?.webhooks ?? []).map(({ url }) => url) : []
}

async function* asLine(pieces: Iterable<string>): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(terminalText(piece))
  yield Buffer.from('\n')
}
