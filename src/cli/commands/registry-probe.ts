import { usageError } from '../../errors.ts'
import { jobRegistrySide, type SchemaSide, urlSide } from '../../jobs/schema-sides.ts'
import type { LeftBehind } from '../../registry/probe/clear-scope.ts'
import type { RegistryProbe } from '../../registry/probe/probe-registry.ts'
import type { FeatureResult } from '../../registry/probe/probe-scope.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable, formatText } from '../table.ts'
import { plural, printable } from '../text.ts'

const LEFT_BEHIND = 4
const REMOVAL =
  'delete each with DELETE /subjects/<name>, then again with ?permanent=true; a level with DELETE /config/<name>, a mode with ' +
  'DELETE /mode/<name>'

/** `registry probe`. */
export async function run(session: Session): Promise<number> {
  const { options, signal } = session
  const side = await chooseRegistry(session)
  const onWrite = (place: string) => {
    session.tell(style => [...formatText(printable(announce(place)), style)])
  }
  const onLeftBehind = (left: readonly LeftBehind[]) => {
    for (const one of left) session.log.write('warn', `the probe did not remove ${describeLeft(one)}`)
    session.log.write('warn', `to remove what the probe left, ${REMOVAL}`)
  }
  const probing = { isWriting: options.write, onWrite, onLeftBehind }
  const probe = await session.actions.probeRegistryJob(side, probing, signal)
  session.print(
    () => formatProbe(probe, session.style),
    () => documentOf(probe),
  )
  return probe.leftBehind.length === 0 ? 0 : LEFT_BEHIND
}

function announce(place: string): string {
  return (
    `Writing test schemas to ${place}, and removing them afterwards. Each may permanently use up a schema ID of the ` +
    'registry, because IDs are not reused.'
  )
}

async function chooseRegistry(session: Session): Promise<SchemaSide> {
  const { url, config, set } = session.options
  if (url !== undefined && config !== undefined) throw usageError('pass either --url or --config, not both')
  if (url === undefined && config === undefined) throw usageError('pass --url or --config')
  if (set.length > 0 && config === undefined) throw usageError('--set needs --config')
  return url === undefined ? jobRegistrySide(await session.loadClusterlessJob(config ?? '')) : urlSide(url, '--url')
}

function documentOf({ registry, flavour, version, features, registrations, leftBehind }: RegistryProbe) {
  return {
    registry,
    registry_flavour: flavour,
    registry_version: version,
    features: features.map(({ name, label, has, detail }) => ({ name, label, has, detail })),
    schemas_registered: registrations,
    left_behind: leftBehind.map(({ subject }) => subject),
    left_behind_details: leftBehind.map(({ subject, parts, reason }) => ({ subject, parts, reason })),
  }
}

function formatProbe(probe: RegistryProbe, style: OutputStyle): string[] {
  const { registry, flavour, version, features, registrations, leftBehind } = probe
  const untried = features.filter(({ has }) => has === null).length
  return [
    ...formatText(`${style.bold(printable(registry))}: ${printable(`${flavour} ${version ?? '(no version)'}`)}`, style),
    '',
    ...formatTable<FeatureResult>(
      [
        { title: 'FEATURE', cell: feature => feature.label },
        {
          title: 'HAS',
          cell: ({ has }) => (has === null ? '?' : has ? 'yes' : 'no'),
          paint: (text, { has }) => (has === null ? style.dim(text) : has ? style.good(text) : style.warn(text)),
        },
        { title: 'MEANING', wraps: true, cell: feature => feature.detail },
      ],
      features,
      style,
    ),
    '',
    ...formatText(
      registrations === 0
        ? `${plural(untried, 'feature')} not probed. Pass --write to probe all of them.`
        : `${plural(registrations, 'schema')} registered, ${leftBehind.length === 0 ? 'all of them' : 'not all of them'} removed again.`,
      style,
    ),
    ...leftBehind.flatMap(one => formatText(style.bad(printable(`not removed: ${describeLeft(one)}`)), style)),
    ...(leftBehind.length === 0 ? [] : formatText(`To remove them, ${REMOVAL}.`, style)),
  ]
}

function describeLeft({ subject, parts, reason }: LeftBehind): string {
  return `subject ${subject} (${parts.join(', ')})${reason === null ? '' : `: ${reason}`}`
}
