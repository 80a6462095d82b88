import { fields, type Item, mapOf, type TextRule } from './leaf.ts'
import { choice } from './scalar-leaves.ts'
import { anyText, jsonOfText, readText, textList } from './text-leaves.ts'

/** Kafka takes any text as the name of a group. */
const groupPattern: TextRule = {
  type: 'text',
  allowed: 'the name of a consumer group, in which * matches any characters and ? matches one',
  pattern: '[\\s\\S]',
  wrong: anyText.wrong,
}

const groupName: TextRule = { ...anyText, allowed: 'the name of a consumer group' }

const targetGroup: Item<string, string> = {
  allowed: groupName.allowed,
  json: jsonOfText(groupName),
  read: (value, complain) => readText(groupName, value, complain),
}

const exclude = textList(groupPattern, {
  description: 'Consumer groups to leave out, even where `include` matches them.',
  allowed: 'names of groups or patterns with * and ?',
  min: 0,
}).prefault([])

export const backupGroupsSchema = fields({
  include: textList(groupPattern, {
    description:
      'Consumer groups whose positions on the topics backed up are kept in every generation. An empty list takes none.',
    allowed: 'names of groups or patterns with * and ?',
    min: 0,
  }).prefault(['*']),
  exclude,
})
  .meta({ description: 'Which consumer groups are backed up.' })
  .prefault({})

export const restoreGroupsSchema = fields({
  include: textList(groupPattern, {
    description:
      'Consumer groups of the backup that get the same positions on the target. An empty list carries none over. ' +
      'Without it: all of them, unless the target is the very cluster that was backed up.',
    allowed: 'names of groups or patterns with * and ?',
    min: 0,
  }).exactOptional(),
  exclude,
  mapping: mapOf(groupName, targetGroup, {
    description: 'The name that a group has on the target, by its name in the backup. Others keep theirs.',
    type: 'map of text to text',
    allowed: 'a map of names of groups, such as {billing: billing-restored}',
  }).prefault({}),
  release: choice(['end', 'per_topic'], {
    description:
      'When groups get their offsets. `end`: all groups when all records are restored. `per_topic`: each group as soon as all its topics ' +
      'are restored, and compared with `verify`, while other topics are still written. Not with shards, where `--finish` commits all offsets.',
  }).prefault('end'),
})
  .meta({ description: 'Which consumer groups are carried over, and when.' })
  .prefault({})
