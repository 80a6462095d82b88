import { usageError } from '../../errors.ts'
import type { Resource } from '../../operator/crd/resource.ts'
import type { Plugin } from '../../operator/kubectl/open-plugin.ts'
import type { Session } from '../session.ts'
import { formatDescription, formatSummaries } from './kubectl-report.ts'
import { readApiGroup } from './operator.ts'

/** The resources of the operator, with the credentials of the user. */
export async function run(session: Session): Promise<number> {
  const { options, clock, env, actions } = session
  const { kubeconfig, context, namespace, allNamespaces, action = 'status' } = options
  const apiGroup = readApiGroup(options)
  refuseUseless(session, action)
  const plugin = await actions.openPlugin({ kubeconfig, context, namespace, allNamespaces, apiGroup }, { clock, env })
  try {
    return await (verbs[action] ?? status)(session, plugin)
  } finally {
    plugin.close()
  }
}

type Verb = (session: Session, plugin: Plugin) => Promise<number>

const verbs: Record<string, Verb> = { status, describe, logs, trigger }

/** An option of another action would be ignored silently. */
function refuseUseless({ options }: Session, action: string): void {
  const { allNamespaces, namespace, follow, tail, run: runName, wait } = options
  const needs: [option: string, isGiven: boolean, of: string][] = [
    ['--all-namespaces', allNamespaces, 'status'],
    ['--follow', follow, 'logs'],
    ['--tail', tail !== undefined, 'logs'],
    ['--run', runName !== undefined, 'logs'],
    ['--wait', wait, 'trigger'],
  ]
  const wrong = needs.find(([, isGiven, of]) => isGiven && of !== action)
  if (wrong) throw usageError(`${wrong[0]} is an option of \`kubectl ${wrong[2]}\`, not of \`kubectl ${action}\``)
  if (allNamespaces && namespace !== undefined) {
    throw usageError('--namespace and --all-namespaces exclude each other')
  }
}

async function status(session: Session, plugin: Plugin): Promise<number> {
  const { options, signal, clock, style, log } = session
  const onLeftOut = (reason: string) => log.write('warn', `KafkaBackupStorage resources are not shown: ${reason}`)
  const resources = await plugin.status(options.resource, onLeftOut, signal)
  session.print(
    () => formatSummaries(resources, clock.now(), style),
    () => ({ resources }),
  )
  return 0
}

async function describe(session: Session, plugin: Plugin): Promise<number> {
  const { options, signal, clock, style } = session
  const description = await plugin.describe(options.resource, signal)
  session.print(
    () => formatDescription(description, clock.now(), style),
    () => description,
  )
  return 0
}

async function logs(session: Session, plugin: Plugin): Promise<number> {
  const { options, signal, log } = session
  const { resource, follow, tail, run: runName } = options
  const tailLines = tail === undefined ? undefined : Number(tail)
  if (tail !== undefined && !/^\d{1,9}$/.test(tail)) throw usageError(`--tail ${tail} is not a number of lines`)
  const onPod = (pod: string, of: string) => log.write('info', `log of pod ${pod} of run ${of}`)
  await session.printAll(
    (async function* () {
      yield* plugin.logs(resource, { run: runName, follow, tailLines }, onPod, signal)
    })(),
  )
  return 0
}

async function trigger(session: Session, plugin: Plugin): Promise<number> {
  const { options, signal, log } = session
  const triggered = await plugin.trigger(options.resource, message => log.write('warn', message), signal)
  const { found, run: runName } = triggered
  const { kind = '', metadata } = found.resource
  const about = { namespace: metadata.namespace, kind, name: metadata.name, run: runName }
  if (!options.wait) {
    const logs = `kubectl kafka-backup logs ${kind.toLowerCase()}/${metadata.name} -n ${metadata.namespace} --follow`
    session.print(
      () => [`${kind} ${metadata.name}: run ${runName} has started. Follow it with \`${logs}\`.`],
      () => about,
    )
    return 0
  }
  const ended = await plugin.waitForEnd(triggered, progressLog(session), signal)
  const { phase, reason, message, records, bytes } = ended
  const counts = records === undefined ? '' : ` ${records} records, ${bytes ?? 0} bytes.`
  const why = phase === 'Failed' ? ` ${[reason, message].filter(Boolean).join(': ')}` : ''
  session.print(
    () => [`${kind} ${metadata.name}: run ${runName} is ${phase}.${counts}${why}`],
    () => ({ ...about, ...ended }),
  )
  return phase === 'Completed' ? 0 : 1
}

/** One line for each new share of the work. */
function progressLog({ log }: Session): (resource: Resource) => void {
  let last = ''
  return ({ status = {} }) => {
    const { phase = '', progress, reason = '' } = status
    const text = progress?.percent === undefined ? `${phase} ${reason}`.trim() : `${phase} ${progress.percent} %`
    if (text !== last) log.write('info', text)
    last = text
  }
}
