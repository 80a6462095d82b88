import { KafkaBackupError } from '../errors.ts'
import { backupId, config, type OptionSpec, path, topic } from './option-specs.ts'

/** An argument that is short for an option: `describe orders` is `describe --backup-id orders`. */
export interface Operand {
  label: string
  /** The name of the option. */
  option: string
  description: string
  /** Takes all remaining arguments, for an option that is repeatable. */
  isRepeatable?: true
}

export const backupIdOperand: Operand = operandOf(backupId, 'backup-id')
export const topicOperand: Operand = operandOf(topic, 'topic')
export const jobFileOperand: Operand = operandOf(config, 'job-file')
export const locationsOperand: Operand = { ...operandOf(path, 'location'), isRepeatable: true }

function operandOf({ name, short }: OptionSpec, label: string): Operand {
  return { label, option: name, description: `short for \`${short === undefined ? '' : `-${short}, `}--${name}\`` }
}

/** `[backup-id]`, as help and documentation show it. */
export function formatOperand({ label, isRepeatable }: Operand): string {
  return `[${label}${isRepeatable ? '...' : ''}]`
}

/** The values of the options with those of the arguments. Refuses a value that is given both ways. */
export function withOperands(
  command: string,
  operands: readonly Operand[],
  given: readonly unknown[],
  values: Record<string, unknown>,
): Record<string, unknown> {
  const all = { ...values }
  for (const [at, { option, label }] of operands.entries()) {
    const value = given[at]
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue
    const field = camelName(option)
    if (all[field] !== undefined) {
      const help = `See \`kafka-backup ${command} --help\`.`
      throw new KafkaBackupError('USAGE', `pass the ${label} as an argument or as --${option}, not both`, { help })
    }
    all[field] = value
  }
  for (const id of [all.backupId, all.againstBackupId].flat()) if (typeof id === 'string') assertBackupId(id, command)
  return all
}

/** A backup is one folder: another ID would only be refused later, as a key of the store that the user did not name. */
function assertBackupId(id: string, command: string): void {
  if (id !== '' && id !== '.' && id !== '..' && !id.includes('/')) return
  const message =
    id === '' ? 'the backup ID is empty' : `${JSON.stringify(id)} is not a backup ID: an ID is the name of one folder`
  const help = `\`kafka-backup list\` shows the IDs of the backups at a location. See \`kafka-backup ${command} --help\`.`
  throw new KafkaBackupError('USAGE', message, { help })
}

/** The values of the options with the defaults that environment variables have. A job file names its own location. */
export function withVariables(
  options: readonly OptionSpec[],
  values: Record<string, unknown>,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, unknown> {
  const all = { ...values }
  for (const { name, variable, isRepeatable } of options) {
    const value = variable === undefined ? undefined : env[variable]
    if (!value || all[camelName(name)] !== undefined || all.config !== undefined) continue
    all[camelName(name)] = isRepeatable ? [value] : value
  }
  return all
}

/** `backupId` of `backup-id`. */
export function camelName(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}
