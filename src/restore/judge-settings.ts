import type { EffectiveConfigs } from '../kafka/topic-configs.ts'
import type { Finding } from '../observe/finding.ts'
import { defaultOf } from './inherited-settings.ts'
import {
  judgeAge,
  judgeCreated,
  judgeDifferences,
  judgeFormat,
  judgeSettings,
  judgeSize,
  judgeTimes,
} from './judge-topic.ts'
import type { PlannedTopic } from './plan.ts'
import { type RestoreProgress, streamKey } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'
import type { RestoredExtent } from './restored-extent.ts'
import { isFilledStream } from './shard-plan.ts'
import { FORMAT_SETTING, isHeldBack } from './topic-settings.ts'

/** What is known of a topic beforehand. */
interface TopicCircumstances {
  nowMs: number
  /** Of a broker of the target. */
  defaults: EffectiveConfigs
  /** By topic of the target. */
  largestSegments: ReadonlyMap<string, number>
  extent: RestoredExtent
}

/** One that an earlier run has created, and not noted before it died, is like a new one. */
export function judgeExisting(
  topic: PlannedTopic,
  configs: EffectiveConfigs,
  options: RestoreOptions,
  known: TopicCircumstances,
): Finding[] {
  const settings = valuesOf(configs)
  if (isBeingFilled(configs)) {
    return [...judgeNew(topic, options, known, settings), ...judgeCreated(topic, settings, options)]
  }
  const moment = { ...known.extent, nowMs: known.nowMs }
  const remedy = 'raise its retention, or set restore.retention: apply (lets them go)'
  const setting = (name: string) => settings.get(name)
  return [
    ...judgeSettings(topic, settings),
    ...judgeFormat(topic.name, settings.get(FORMAT_SETTING), known.defaults),
    ...judgeDifferences(topic, settings, options),
    ...judgeSize(topic, setting, known.largestSegments.get(topic.name)),
    ...judgeTimes(topic, settings, moment),
    ...(options.retention === 'apply' ? [] : judgeAge(topic, setting, moment, remedy)),
  ]
}

/** It has the settings that a restore gives to a topic while it fills it. */
export function isBeingFilled(configs: EffectiveConfigs): boolean {
  const own = new Map([...configs].filter(([, { source }]) => source === 'topic'))
  return isHeldBack(Object.fromEntries(valuesOf(own)))
}

export function valuesOf(configs: EffectiveConfigs): Map<string, string> {
  return new Map([...configs].map(([name, { value }]) => [name, value ?? '']))
}

/** Of one that the restore makes: the settings that it gets in the end, or has where it is there already. */
export function judgeNew(
  topic: PlannedTopic,
  options: RestoreOptions,
  known: TopicCircumstances,
  current: ReadonlyMap<string, string> = new Map(),
): Finding[] {
  const setting = finalSettings(topic, known, current)
  return [
    ...judgeFormat(topic.name, setting(FORMAT_SETTING), known.defaults),
    ...judgeSize(topic, setting, known.largestSegments.get(topic.name)),
    ...judgeNewAge(topic, options, known, current),
  ]
}

export function judgeNewAge(
  topic: PlannedTopic,
  { retention }: RestoreOptions,
  known: TopicCircumstances,
  current: ReadonlyMap<string, string>,
): Finding[] {
  if (retention !== 'fail') return []
  const remedy = 'set restore.retention: hold (keeps everything) or apply (lets them go)'
  const moment = { ...known.extent, nowMs: known.nowMs }
  return judgeAge(topic, finalSettings(topic, known, current), moment, remedy)
}

function finalSettings(
  topic: PlannedTopic,
  { defaults }: Pick<TopicCircumstances, 'defaults'>,
  current: ReadonlyMap<string, string>,
): (name: string) => string | undefined {
  const final = { ...topic.whileFilling, ...Object.fromEntries(current), ...topic.afterwards }
  return name => final[name] ?? defaultOf(defaults, name)
}

/** It has its records, and not yet the retention that could delete all of them at once: time may have passed since they were written. */
export function awaitsRetention(
  { name, streams }: PlannedTopic,
  configs: EffectiveConfigs = new Map(),
  { retention }: RestoreOptions,
  progress: RestoreProgress | undefined,
): boolean {
  const noted = streams.map(({ partition }) => progress?.streams.get(streamKey({ topic: name, partition })))
  const isOpen = noted.every(isFilledStream) && noted.some(one => !one?.isDone)
  return retention === 'fail' && isOpen && isBeingFilled(configs)
}
