import type { OptionSpec } from './option-specs.ts'

export const shard: OptionSpec = {
  name: 'shard',
  value: { kind: 'text', label: 'i/n' },
  description: 'copy one of n parts of the partitions, counted from 0; `--commit` commits all parts as one backup',
}

export const commit: OptionSpec = {
  name: 'commit',
  description: 'commit the work of all shards',
}

export const prepare: OptionSpec = {
  name: 'prepare',
  description:
    'create topics and schemas for several processes, once; with `--shard`, shard 0 does it before its part and the others wait for it',
}

export const shards: OptionSpec = {
  name: 'shards',
  value: { kind: 'text', label: 'n' },
  description: 'the number of shards that `--prepare` prepares the restore for',
}

export const restoreShard: OptionSpec = {
  ...shard,
  description:
    'write the records of one of n parts of the partitions, counted from 0, after `--prepare`; `--finish` completes the restore',
}

export const finish: OptionSpec = {
  name: 'finish',
  description: 'complete the restore when all shards are done: comparison, settings, consumer groups, access rules',
}
