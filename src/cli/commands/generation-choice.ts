import type { GenerationChoice } from '../../archive/select-generation.ts'
import { usageError } from '../../errors.ts'
import type { LocatedRestoreJob } from '../../jobs/schema-target.ts'
import type { CommandOptions } from '../option-specs.ts'
import { timeOption } from './option-values.ts'

/** The state of the backup that `--generation` or `--as-of` selects. */
export function choiceOf({ generation, asOf }: Pick<CommandOptions, 'generation' | 'asOf'>): GenerationChoice {
  if (generation !== undefined && asOf !== undefined) throw usageError('pass either --generation or --as-of, not both')
  if (asOf === undefined) return { generation: parseGeneration('--generation', generation) }
  return { asOfMs: timeOption('as-of', asOf) }
}

/** The job with the state that the options select instead of the one that it selects itself. */
export function withChoice<J extends LocatedRestoreJob>(job: J, options: CommandOptions): J {
  const { generation, asOfMs } = choiceOf(options)
  if (generation === undefined && asOfMs === undefined) return job
  const { generation: _, asOfMs: __, ...restore } = job.restore
  const choice = { ...(generation !== undefined && { generation }), ...(asOfMs !== undefined && { asOfMs }) }
  return { ...job, restore: { ...restore, ...choice } }
}

export function parseGeneration(option: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,11}$/.test(text)) return text === undefined ? undefined : Number(text)
  throw usageError(`${option} ${text} is not a generation: use a whole number from 1`)
}
