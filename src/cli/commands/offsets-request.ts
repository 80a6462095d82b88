import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../../errors.ts'
import type { OffsetsSession } from '../../jobs/offsets.ts'
import { type OffsetMapping, parseMapping } from '../../offsets/mapping.ts'
import type { Origin } from '../../offsets/origin.ts'
import type { ResetRequest } from '../../offsets/reset-request.ts'
import { type Strategy, strategies } from '../../offsets/reset-request.ts'
import type { CommandOptions } from '../option-specs.ts'
import { selectionOf, usage } from './offsets-place.ts'
import { offsetOption, timeOption } from './option-values.ts'

const strategyOptions = ['timestamp', 'offset', 'mapping', 'fromSnapshot', 'backupId', 'topicMapping', 'since'] as const

/** The options of each strategy. */
const optionsOf: Record<Strategy, readonly (typeof strategyOptions)[number][]> = {
  earliest: [],
  latest: [],
  timestamp: ['timestamp'],
  offset: ['offset'],
  header_based: ['fromSnapshot', 'backupId', 'topicMapping', 'since'],
  from_backup: ['backupId'],
  from_mapping: ['mapping', 'fromSnapshot', 'backupId'],
}

/** Reads the options of a plan; refuses missing options and options that the strategy ignores. */
export async function requestOf(
  options: CommandOptions,
  offsets: OffsetsSession,
  signal: AbortSignal,
): Promise<ResetRequest> {
  const selection = selectionOf(options)
  const strategy = strategies.find(one => one === options.strategy)
  if (strategy === undefined) throw usage(`pass --strategy: ${strategies.join(', ')}`)
  if (selection.groups.length === 0) throw usage("pass --group; '*' is all")
  refuseUnused(strategy, options)
  switch (strategy) {
    case 'earliest':
    case 'latest':
      return { strategy, selection }
    case 'timestamp':
      return { strategy, selection, timestampMs: timeOption('timestamp', needed('timestamp', options.timestamp)) }
    case 'offset':
      return { strategy, selection, offset: offsetOption('offset', needed('offset', options.offset)) }
    case 'from_backup':
      return { strategy, selection, origin: await neededOrigin(options, offsets, signal, '--backup-id') }
    case 'from_mapping': {
      const mapping = await readMapping(needed('mapping', options.mapping))
      return { strategy, selection, mapping, origin: await originOf(options, offsets, signal) }
    }
    case 'header_based': {
      const origin = await neededOrigin(options, offsets, signal, '--from-snapshot or --backup-id')
      const sinceMs = timeOption('since', options.since)
      return { strategy, selection, origin, topicMapping: topicMappingOf(options.topicMapping), sinceMs }
    }
    default:
      return strategy satisfies never
  }
}

function refuseUnused(strategy: Strategy, options: CommandOptions): void {
  const given = strategyOptions.filter(name => options[name] !== undefined && options[name]?.length !== 0)
  const unused = given.find(name => !optionsOf[strategy].includes(name))
  if (unused === undefined) return
  const name = unused.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
  throw usage(`--${name} does not apply to the strategy ${strategy}`)
}

async function originOf(
  { fromSnapshot, backupId }: CommandOptions,
  offsets: OffsetsSession,
  signal: AbortSignal,
): Promise<Origin | undefined> {
  if (fromSnapshot !== undefined && backupId !== undefined) throw usage('pass either --from-snapshot or --backup-id')
  if (fromSnapshot !== undefined) return offsets.readOrigin({ snapshotId: fromSnapshot }, signal)
  return backupId === undefined ? undefined : offsets.readOrigin({ backupId }, signal)
}

async function neededOrigin(
  options: CommandOptions,
  offsets: OffsetsSession,
  signal: AbortSignal,
  names: string,
): Promise<Origin> {
  const origin = await originOf(options, offsets, signal)
  if (!origin) throw usage(`the strategy ${options.strategy} needs ${names}`)
  return origin
}

async function readMapping(path: string): Promise<OffsetMapping> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    const { message } = cause as Error
    throw new KafkaBackupError('CONFIG_UNREADABLE', `${path} cannot be read: ${message}`, {
      cause,
      help: 'Check the path and the permissions of the file that --mapping names.',
    })
  }
  return parseMapping(text, path)
}

function topicMappingOf(pairs: readonly string[]): Map<string, string> {
  return new Map(
    pairs.map(pair => {
      const [, source, target] = /^([\w.-]+)=([\w.-]+)$/.exec(pair) ?? []
      if (source === undefined || target === undefined) throw usage(`--topic-mapping ${pair}: write source=target`)
      return [source, target]
    }),
  )
}

function needed(name: string, value: string | undefined): string {
  if (value !== undefined) return value
  throw usage(`the strategy needs --${name}`)
}
