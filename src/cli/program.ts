import { Command, CommanderError, Option } from 'commander'
import { KafkaBackupError } from '../errors.ts'
import { type CommandSpec, formatArgument } from './command-spec.ts'
import { commandTable } from './command-table.ts'
import { commonOptions, describeOption, formatFlags, help, version as versionOption } from './common-options.ts'
import type { Io } from './io.ts'
import { camelName, formatOperand, withOperands, withVariables } from './operands.ts'
import type { CommandOptions, OptionSpec } from './option-specs.ts'
import { type OutputStyle, outputStyleOf } from './output-style.ts'
import { terminalText, withoutMarks } from './text.ts'
import { usageError } from './usage-error.ts'

/** The command to run. Help and version are handled while parsing. */
type CommandLine = { exitCode: number } | { command: CommandSpec; options: CommandOptions }

/** Throws USAGE if the arguments are not a valid command. */
export function parseCommandLine(argv: readonly string[], io: Io, version: string): CommandLine {
  let chosen: CommandLine = { exitCode: 0 }
  const program = buildProgram(io, version, (command, values, argument) => {
    chosen = { command, options: readOptions(command, withVariables(command.options, values, io.env), argument) }
  })
  try {
    program.parse([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { exitCode: 0 }
    if (error.code === 'commander.help') return { exitCode: 2 }
    throw usageError(error, argv)
  }
  return chosen
}

type OnChosen = (command: CommandSpec, values: Record<string, unknown>, argument: Record<string, string>) => void

function buildProgram(io: Io, version: string, onChosen: OnChosen): Command {
  const style = outputStyleOf(io.stdout, io.env)
  const program = new Command('kafka-backup')
    .description('Back up Kafka topics byte for byte, restore them exactly, and verify both.')
    .version(version, formatFlags(versionOption), versionOption.description)
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', ['', style.bold('Examples:'), ...firstSteps, '', wrap(exitCodes, style)].join('\n'))
  for (const spec of commandTable) program.addCommand(buildCommand(spec, style, onChosen))
  for (const command of [program, ...program.commands]) setUp(command, io, style)
  return program
}

const firstSteps = [
  ['init', 'write a job file'],
  ['backup --config job.yaml', 'copy new records'],
  ['verify --config job.yaml --deep', 'check every byte'],
  ['restore --config restore.yaml', 'restore the backup'],
  ['compare --config restore.yaml', 'compare it with the backup'],
].map(([args = '', meaning]) => `  kafka-backup ${args.padEnd(33)} # ${meaning}`)

const exitCodes =
  'Exit codes: 0 success, 1 failure, 2 wrong command line or job file, 3 damage or a difference found, 4 partial success, 5 conflict with another writer, 6 no record found (search), 130/143 interrupted.'

function buildCommand(spec: CommandSpec, style: OutputStyle, onChosen: OnChosen): Command {
  const command = new Command(spec.name).summary(spec.summary).description(withoutMarks(spec.description))
  if (spec.argument)
    command.addArgument(
      command
        .createArgument(formatArgument(spec.argument), withoutMarks(spec.argument.description))
        .choices([...spec.argument.choices])
        .default(spec.argument.fallback),
    )
  const { operands = [] } = spec
  for (const one of operands) command.argument(formatOperand(one), withoutMarks(one.description))
  const isArgument = ({ name }: OptionSpec) => operands.some(({ option }) => option === name)
  for (const option of [...spec.options, ...commonOptions]) {
    if (option !== help) command.addOption(buildOption(forService(spec, option), isArgument(option)))
  }
  if (spec.options.some(({ name }) => name === 'print')) takePrintFormats(command)
  const examples = spec.examples.flatMap(example => [
    '',
    `  ${style.dim(`# ${withoutMarks(example.meaning)}`)}`,
    `  ${example.command}`,
  ])
  const exits =
    spec.exits === undefined
      ? []
      : [
          '',
          style.bold('Exit codes:'),
          ...withoutMarks(spec.exits)
            .split('; ')
            .map(each => wrap(`  ${each}`, style, '    ')),
        ]
  command.addHelpText('after', ['', style.bold('Examples:'), ...examples.slice(1), ...exits].join('\n'))
  return command.action((...args: unknown[]) => {
    const options = spec.isService ? asService(command) : command.opts()
    const values = withOperands(spec.name, operands, spec.argument ? args.slice(1) : args, options)
    assertRequired(spec, values)
    onChosen(spec, values, spec.argument ? { [spec.argument.name]: String(args[0]) } : {})
  })
}

/** Wraps a text of the help; lines after the first are indented. */
function wrap(text: string, style: OutputStyle, indent = ''): string {
  const wrapped = new Command().createHelp().boxWrap(text, helpWidth(style.columns) - indent.length)
  return wrapped.replaceAll('\n', `\n${indent}`)
}

function helpWidth(columns: number | undefined): number {
  return Math.min(columns ?? 80, 100)
}

/** Commander knows only of the option where there is also an argument for it. */
function assertRequired({ name, options, operands = [] }: CommandSpec, values: Record<string, unknown>): void {
  for (const { label, option: wanted } of operands) {
    const option = options.find(one => one.name === wanted && one.isRequired)
    if (option === undefined || values[camelName(wanted)] !== undefined) continue
    throw new KafkaBackupError(
      'USAGE',
      `${name} needs a ${label.replace('-', ' ')}: pass it as an argument or as --${wanted}`,
      {
        help: `See \`kafka-backup ${name} --help\`.`,
      },
    )
  }
}

/** Services log JSON by default, because programs read their logs. */
function forService({ isService }: CommandSpec, option: OptionSpec): OptionSpec {
  return isService && option.name === 'log-format' ? { ...option, fallback: 'json' } : option
}

function asService(command: Command): Record<string, unknown> {
  const { verbose = 0, ...rest } = command.opts()
  return { ...rest, verbose: Number(verbose) + 1 }
}

function buildOption(spec: OptionSpec, isArgument: boolean): Option {
  const option = new Option(formatFlags(spec), withoutMarks(describeOption(spec)))
  if (spec.value?.kind === 'choice') option.choices(spec.value.choices)
  if (spec.fallback !== undefined) option.default(spec.fallback)
  if (spec.isRequired && !isArgument) option.makeOptionMandatory()
  if (spec.isRepeatable && spec.value) option.argParser((value, earlier?: string[]) => [...(earlier ?? []), value])
  if (spec.isRepeatable && !spec.value) option.argParser((_, earlier?: number) => (earlier ?? 0) + 1)
  return option
}

/** As with kcat, `-f` may also hold the format of a record. */
function takePrintFormats(command: Command): void {
  const option = command.options.find(({ long }) => long === '--format')
  const { parseArg } = option ?? {}
  option?.argParser((value, earlier: unknown) => {
    if (!value.includes('%')) return parseArg?.(value, earlier)
    command.setOptionValue('print', value)
    return 'text'
  })
}

function setUp(command: Command, io: Io, style: OutputStyle): void {
  command
    .exitOverride()
    .helpOption(formatFlags(help), help.description)
    .configureHelp({ styleTitle: style.bold, subcommandTerm: formatTerm })
    .configureOutput({
      writeOut: text => io.stdout.write(text),
      writeErr: text => io.stderr.write(terminalText(text)),
      // The caller prints the error.
      outputError: () => undefined,
      getOutHelpWidth: () => helpWidth(io.stdout.columns),
      getErrHelpWidth: () => helpWidth(io.stderr.columns),
      getOutHasColors: () => style.hasColor,
      getErrHasColors: () => outputStyleOf(io.stderr, io.env).hasColor,
    })
}

/** The name and the arguments; every command has options. */
function formatTerm(command: Command): string {
  const names = command.registeredArguments.map(one => {
    const name = `${one.name()}${one.variadic ? '...' : ''}`
    return one.required ? `<${name}>` : `[${name}]`
  })
  return [command.name(), ...names].join(' ')
}

/** The defaults of all options. */
const none = { set: [], keyFile: [], recipientFile: [], kmsKey: [], group: [], topicMapping: [], match: [], keep: [] }
const several = {
  newIncarnation: [],
  paths: [],
  configs: [],
  backupIds: [],
  topics: [],
  namespaces: [],
  resource: [],
  jobImagePullSecret: [],
  header: [],
  allowedHost: [],
  where: [],
  keepGenerations: [],
  word: [],
  include: [],
  exclude: [],
}
const flags = {
  deep: false,
  storage: false,
  dryRun: false,
  probe: false,
  probeTarget: false,
  generations: false,
  release: false,
  commit: false,
  prepare: false,
  finish: false,
  ids: false,
  strict: false,
  quiet: false,
  yes: false,
  write: false,
  count: false,
  requireMatch: false,
  notify: false,
  nagios: false,
  watch: false,
  follow: false,
  metricsAuth: false,
  wait: false,
}
const on = { metrics: true, leaderElect: true, record: true, schemas: true, check: true }
const off = {
  ...flags,
  allNamespaces: false,
  newDataKey: false,
  all: false,
  verifyExisting: false,
  withAborted: false,
  overwrite: false,
  allIncarnations: false,
  keepFormulas: false,
  decrypt: false,
  report: false,
  acceptPlainSnapshot: false,
}

function readOptions(
  { options }: CommandSpec,
  values: Record<string, unknown>,
  argument: Record<string, string>,
): CommandOptions {
  const given = { ...none, ...several, ...off, ...on, verbose: 0, ...argument, ...values } as Record<string, unknown>
  for (const { name, plural } of options) {
    const single = camelName(name)
    if (plural === undefined || given[single] === undefined) continue
    given[plural] = given[single]
    delete given[single]
  }
  return given as unknown as CommandOptions
}
