import { type Finding, topicError } from '../observe/finding.ts'
import { type BoundProgram, bindProgram } from './outgoing-options.ts'
import type { RestorePlan } from './plan.ts'
import { isUntouched, type RestoreProgress, type StreamProgress, streamKey } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'
import { isFilledStream, listSome } from './shard-plan.ts'

/**
 * Pure. Partitions that another version has begun to write. What is there is counted by the records that this version sends: if it
 * selects or places others, records are lost or written twice. Nothing is written to partitions that are filled.
 */
export function findOtherVersions(
  { topics }: Pick<RestorePlan, 'topics'>,
  progress: RestoreProgress | undefined,
  options: RestoreOptions,
  version: string,
): Finding[] {
  const program = bindProgram(options, version)
  if (!program) return []
  return topics.flatMap(({ name, streams }) => {
    const noted = streams.flatMap(({ partition }) => progress?.streams.get(streamKey({ topic: name, partition })) ?? [])
    const others = noted.filter(one => !isFilledStream(one) && !isUntouched(one) && isOtherVersion(one, program))
    if (others.length === 0) return []
    const { problem, remedy } = describeOthers(others, program, options.existingTopics === 'append')
    return [topicError(name, problem, remedy)]
  })
}

/** Pure. Notes of earlier versions have none. */
export function isOtherVersion({ version }: StreamProgress, program: BoundProgram): boolean {
  return version !== undefined && version !== program.version
}

/** Pure. Of partitions of one topic. */
export function describeOthers(
  others: readonly StreamProgress[],
  { version, settings }: BoundProgram,
  isShared: boolean,
): { problem: string; remedy: string } {
  const begun = [...new Set(others.map(one => one.version))].join(' and ')
  const keys = listSome(others.map(streamKey))
  return {
    problem:
      `version ${begun} of kafka-backup has begun to fill it (${keys}), and this is version ${version}: with ${settings.join(', ')} ` +
      'the two may select, change or place records differently, and records would be lost or written twice',
    remedy:
      `run the same command with version ${begun} to complete this restore; or restore with this version under another name ` +
      // A topic that others write to must not be deleted.
      `(restore.topic_mapping) with another restore.restore_id${isShared ? '' : ', or after the topic was deleted'}`,
  }
}
