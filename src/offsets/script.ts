import { shellQuote } from '../lib/shell.ts'
import type { OffsetsPlan, PlannedGroup } from './plan-reset.ts'

interface ScriptOptions {
  bootstrapServers: readonly string[]
  /** The connection needs more than an address, which the script leaves to a file of settings for Kafka's tools. */
  isSecure: boolean
}

/**
 * A plan as commands of Kafka's own tool, for those who have to review it or may run nothing else. The tool maps the file of
 * positions into memory, so that it takes no pipe, and it ends with 0 whatever happens.
 */
export function formatScript(plan: OffsetsPlan, options: ScriptOptions): string {
  const commands = plan.groups.flatMap(group => formatGroup(group, options))
  const lines = [
    '#!/bin/sh',
    `# Sets committed offsets of consumer groups on the cluster ${plainText(plan.clusterId ?? 'unknown')} by the strategy ${plan.strategy}.`,
    '# The offsets are those of the moment at which this was written. The groups must have no active members.',
    ...(options.isSecure
      ? ['# client.properties holds the security settings of this cluster for the tools of Kafka.']
      : []),
    "# Kafka's tool ends with 0 also when it fails: read what it prints, or make the plan again and see what is left.",
    'set -eu',
    'positions=$(mktemp)',
    `trap 'rm -f "$positions"' EXIT`,
    ...commands,
  ]
  return `${lines.join('\n')}\n`
}

function formatGroup({ now, createAs, positions, error }: PlannedGroup, options: ScriptOptions): string[] {
  if (error) return ['', `# group ${plainText(now.group)} is left out: ${plainText(error.message)}`]
  if ((createAs ?? now.type) === 'share') {
    const why = "it is a share group, and Kafka's tool cannot set a start offset; use `kafka-backup offsets reset`"
    return ['', `# group ${plainText(now.group)} is left out: ${why}`]
  }
  if (plainText(now.group) !== now.group) {
    return [
      '',
      `# group ${plainText(now.group)} is left out: its name has control characters, which a script cannot show`,
    ]
  }
  const problems = positions.flatMap(({ topic, partition, problem }) =>
    problem === undefined ? [] : [`# ${plainText(topic)}/${partition} is left out: ${plainText(problem)}`],
  )
  const rows = positions.flatMap(({ topic, partition, to, isChange }) =>
    isChange && to !== null ? [`${plainText(topic)},${partition},${to}`] : [],
  )
  if (rows.length === 0) return ['', `# group ${plainText(now.group)}: nothing to change`, ...problems]
  const words = [
    'kafka-consumer-groups.sh',
    ...['--bootstrap-server', shellQuote(options.bootstrapServers.join(','))],
    ...(options.isSecure ? ['--command-config', 'client.properties'] : []),
    ...['--group', shellQuote(now.group)],
    ...['--reset-offsets', '--from-file', '"$positions"', '--execute'],
  ]
  return ['', ...problems, `cat > "$positions" <<'END'`, ...rows, 'END', words.join(' ')]
}

/** Of one line, so that nothing behind a comment's mark becomes a command. */
function plainText(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
}
