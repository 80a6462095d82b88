import { stringify } from 'yaml'
import { usageError } from '../../errors.ts'
import type { LocatedRestoreJob } from '../../jobs/schema-target.ts'
import { type KafkaTopic, strimziTopics } from '../../restore/strimzi-topics.ts'
import type { Session } from '../session.ts'

/** Planning does not connect to a cluster, so any address works. */
const NO_CLUSTER = 'localhost:9092'

export async function run(session: Session): Promise<number> {
  const { strimziCluster = '', strimziApi = '', namespace } = session.options
  const topics = await session.actions.planTopicsJob(await jobOf(session), session, session.signal)
  const resources = strimziTopics(topics, { cluster: strimziCluster, apiVersion: strimziApi, namespace })
  session.print(
    () => formatResources(resources),
    () => ({ apiVersion: 'v1', kind: 'List', items: resources }),
  )
  return 0
}

/** A multi-document YAML stream. Quotes `on` and `1_000`, because YAML 1.1 parsers such as kubectl do not read them as texts. */
function formatResources(resources: readonly KafkaTopic[]): string[] {
  return resources.flatMap(resource => ['---', stringify(resource, { lineWidth: 0, compat: 'yaml-1.1' }).trimEnd()])
}

async function jobOf(session: Session): Promise<LocatedRestoreJob> {
  const { config, path, backupId, set } = session.options
  if (config !== undefined) {
    if (path !== undefined || backupId !== undefined)
      throw usageError('pass either --config, or --path and --backup-id')
    const { target = await anyTarget(session), ...job } = await session.loadClusterlessJob(config, 'restore')
    return { ...job, target, ...session.givenKeys() }
  }
  if (set.length > 0) throw usageError('--set needs --config')
  if (path === undefined || backupId === undefined) {
    throw usageError('pass --config, or --path and --backup-id')
  }
  return session.actions.plainRestoreJob({ path, backupId, target: NO_CLUSTER, ...session.givenKeys() })
}

async function anyTarget({ actions }: Session): Promise<LocatedRestoreJob['target']> {
  return (await actions.plainRestoreJob({ path: '.', backupId: 'topics', target: NO_CLUSTER })).target
}
