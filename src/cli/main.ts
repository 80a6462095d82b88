import { errorTable } from '../error-table.ts'
import { KafkaBackupError, reasonOf, toKafkaBackupError } from '../errors.ts'
import { type LogLevel, openLog } from '../observe/log.ts'
import { Redactor } from '../observe/redact.ts'
import { version } from '../version.ts'
import { type Actions, realActions } from './actions.ts'
import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { type FailureOutput, reportFailure } from './failure.ts'
import { watchInterrupts } from './interrupts.ts'
import type { Io } from './io.ts'
import type { CommandOptions } from './option-specs.ts'
import { outputStyleOf } from './output-style.ts'
import { warnOverriddenOptions } from './overridden-options.ts'
import { parseCommandLine } from './program.ts'
import { openResultFile } from './result/result-file.ts'
import { plainOutput, Screen } from './screen.ts'
import { type RunCommand, Session } from './session.ts'
import { terminalText } from './text.ts'
import { commandIn } from './usage-error.ts'

/** Runs the program: arguments in, exit code out. Every failure becomes a message and an exit code. */
export async function main(argv: readonly string[], raw: Io, actions: Actions = realActions): Promise<number> {
  const io = forText(raw)
  try {
    const line = parseCommandLine(argv, io, version)
    return 'exitCode' in line ? line.exitCode : await runCommand(line.command, line.options, io, actions)
  } catch (error) {
    const output = await openOutput(guessOptions(argv), io)
    const failure = toKafkaBackupError(error)
    return openResultFile(commandIn(argv) ?? null, output).close(reportFailure(failure, output), failure)
  }
}

/** Names and messages come from archives and servers, so control characters are escaped here; `Screen` does the same for standard error. */
function forText(io: Io): Io {
  const { ask } = io
  return {
    stdout: plainOutput(io.stdout),
    stderr: io.stderr,
    env: io.env,
    clock: io.clock,
    writeBytes: bytes => io.writeBytes(bytes),
    onSignal: listener => io.onSignal(listener),
    writeFile: (path, text) => io.writeFile(path, text),
    exit: code => io.exit(code),
    ...(io.clearScreen && { clearScreen: io.clearScreen }),
    ...(ask ? { ask: (question, signal) => ask(terminalText(question), signal) } : {}),
  }
}

async function runCommand(command: CommandSpec, options: CommandOptions, io: Io, actions: Actions): Promise<number> {
  const output = await openOutput(options, io)
  const result = openResultFile(nameOf(command, options), output)
  warnOverriddenOptions(io.env, output.log)
  using interrupts = watchInterrupts(io, {
    say: text => reportNotice(text, output),
    leave: exitCode => {
      output.screen.setStatus('')
      result.close(exitCode, toKafkaBackupError(interrupts.signal.reason))
    },
    onInterrupt: changesNothing(command, options) ? NOTHING_CHANGED : command.onInterrupt,
    stopsAtOnce: command.stopsAtOnce === true,
  })
  const { signal } = interrupts
  try {
    const run = await loadCommand(command.name)
    return result.close(await run(new Session({ ...output, actions, signal, outcome: result.outcome })))
  } catch (error) {
    const failure = withCommand(toKafkaBackupError(reasonOf(error, signal)), command)
    return result.close(reportFailure(failure, output), failure)
  }
}

/** A wrong command line leads to the help of this command. */
function withCommand(error: KafkaBackupError, { name }: CommandSpec): KafkaBackupError {
  if (error.code !== 'USAGE' || error.help !== errorTable.USAGE.help) return error
  const { message, cause, details } = error
  return new KafkaBackupError('USAGE', message, { cause, details, help: `See \`kafka-backup ${name} --help\`.` })
}

function changesNothing({ readOnlyActions = [] }: CommandSpec, { dryRun, action }: CommandOptions): boolean {
  return dryRun || (action !== undefined && readOnlyActions.includes(action))
}

/** The command with its action: `offsets reset`. */
function nameOf({ name }: CommandSpec, { action }: CommandOptions): string {
  return action === undefined ? name : `${name} ${action}`
}

type OutputOptions = FailureOutput['options'] & Pick<CommandOptions, 'quiet'>

/** Standard error as log lines, status and messages, with one set of secrets for all. */
async function openOutput<O extends OutputOptions>(options: O, io: Io) {
  const screen = new Screen(io.stderr)
  const redactor = new Redactor()
  const level: LogLevel = options.quiet
    ? 'error'
    : ((['warn', 'info', 'debug'] as const)[Math.min(options.verbose, 2)] ?? 'warn')
  const log = await openLog({
    level,
    format: options.logFormat,
    destination: screen,
    now: io.clock.now,
    redactor,
    hasTimes: options.verbose > 0,
  })
  return { options, io, screen, redactor, log, errorLook: outputStyleOf(io.stderr, io.env) }
}

function reportNotice(text: string, { options, screen, log }: Awaited<ReturnType<typeof openOutput>>): void {
  if (options.logFormat === 'json') log.write('warn', text)
  else screen.write(`${text}\n`)
}

/** The output formats to use if the arguments are invalid. */
function guessOptions(argv: readonly string[]): OutputOptions {
  const asks = (name: string) =>
    argv.some((arg, at) => arg === `${name}=json` || (arg === name && argv[at + 1] === 'json'))
  const isJson = asks('--format') || asks('-f') || argv.includes('-fjson')
  return {
    format: isJson ? 'json' : 'text',
    logFormat: asks('--log-format') ? 'json' : 'text',
    verbose: 0,
    quiet: false,
  }
}

/** Loads the code of a command on demand. Separate from the command table, which some commands import. */
const loaders: Record<string, () => Promise<{ run: RunCommand }>> = {
  init: () => import('./commands/init.ts'),
  check: () => import('./commands/check.ts'),
  backup: () => import('./commands/backup.ts'),
  restore: () => import('./commands/restore.ts'),
  status: () => import('./commands/status.ts'),
  list: () => import('./commands/list.ts'),
  describe: () => import('./commands/describe.ts'),
  verify: () => import('./commands/verify.ts'),
  diff: () => import('./commands/diff.ts'),
  hold: () => import('./commands/hold.ts'),
  repair: () => import('./commands/repair.ts'),
  cat: () => import('./commands/cat.ts'),
  search: () => import('./commands/search.ts'),
  export: () => import('./commands/export.ts'),
  console: () => import('./commands/console.ts'),
  prune: () => import('./commands/prune.ts'),
  delete: () => import('./commands/delete.ts'),
  drill: () => import('./commands/drill.ts'),
  import: () => import('./commands/import.ts'),
  copy: () => import('./commands/copy.ts'),
  compare: () => import('./commands/compare.ts'),
  'offset-map': () => import('./commands/offset-map.ts'),
  topics: () => import('./commands/topics.ts'),
  schemas: () => import('./commands/schemas.ts'),
  offsets: () => import('./commands/offsets.ts'),
  key: () => import('./commands/key.ts'),
  operator: () => import('./commands/operator.ts'),
  crds: () => import('./commands/crds.ts'),
  kubectl: () => import('./commands/kubectl.ts'),
  registry: () => import('./commands/registry.ts'),
  completion: () => import('./commands/completion.ts'),
}

async function loadCommand(name: string): Promise<RunCommand> {
  const load = loaders[name]
  if (!load) throw new Error(`the command ${name} is in the table but has no code`)
  return (await load()).run
}
