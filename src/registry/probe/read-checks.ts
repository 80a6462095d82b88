import { joinSubject, splitSubject } from '../../archive/registry-model.ts'
import { asList, asRecord } from '../client/json-shape.ts'
import { contextPath, pathOf } from '../client/paths.ts'
import { type FeatureCheck, found } from './feature-check.ts'

/** No registry has a subject or context of this name. */
const NOWHERE = 'kafka-backup-nowhere'

/** What can be seen without writing anything. */
export const readChecks: readonly FeatureCheck[] = [
  {
    name: 'schema_list',
    label: 'list of all schemas',
    without: 'a backup requests each version separately, which is slower',
    isWrite: false,
    run: async scope => {
      const { context } = splitSubject((await scope.sample()) ?? '')
      const path = `${contextPath(scope.identity, context)}/schemas`
      const { body } = await scope.ask({ path, query: { limit: 1, deleted: true } })
      const rows = asList(body)
      if (rows === undefined) return found(false)
      const { subject, version, id } = asRecord(rows[0]) ?? {}
      if (rows.length === 0) return undefined
      return found([subject, version, id].every(each => each !== undefined))
    },
  },
  {
    name: 'schema_types',
    label: 'Avro, JSON and Protobuf',
    without: 'schemas of the missing types cannot be restored',
    isWrite: false,
    run: async scope => {
      const types = asList((await scope.ask({ path: '/schemas/types' })).body)
      if (types === undefined) return undefined
      const missing = ['AVRO', 'JSON', 'PROTOBUF'].filter(type => !types.includes(type))
      return found(missing.length === 0, missing.length === 0 ? undefined : `missing: ${missing.join(', ')}`)
    },
  },
  {
    name: 'contexts',
    label: 'contexts',
    without: 'subjects of a context are restored under plain names; lossy',
    isWrite: false,
    run: async scope => found(scope.hasContexts),
  },
  {
    name: 'unset_settings',
    label: 'unset levels shown as unset',
    without: 'a backup of this registry may contain inherited levels',
    isWrite: false,
    run: async scope => {
      // Apicurio answers for every subject that exists.
      const subject = scope.ownSample ?? NOWHERE
      const { status } = await scope.ask({ path: pathOf(scope.identity, 'config', subject), subject })
      return found(status === 404)
    },
  },
  {
    name: 'unset_context_settings',
    label: 'unset contexts shown as unset',
    without: 'settings that it shows for every context are not backed up',
    isWrite: false,
    run: async scope => {
      if (!scope.hasContexts) return undefined
      const nowhere = joinSubject({ context: `.${NOWHERE}`, name: '' })
      const { status } = await scope.ask({ path: pathOf(scope.identity, 'config', nowhere), subject: nowhere })
      return found(status === 404)
    },
  },
  {
    name: 'highest_id',
    label: 'highest ID ever given',
    without: 'IDs above those of the backup may be given again after `force_ids`',
    isWrite: false,
    run: async scope => {
      const subject = await scope.sample()
      if (subject === undefined) return undefined
      const latest = await scope.ask({ path: pathOf(scope.identity, 'subjects', subject, '/versions/latest'), subject })
      const { id } = asRecord(latest.body) ?? {}
      if (typeof id !== 'number') return undefined
      const path = `${contextPath(scope.identity, splitSubject(subject).context)}/schemas/ids/${id}`
      const { body } = await scope.ask({ path, query: { fetchMaxId: true } })
      return found(typeof asRecord(body)?.maxId === 'number')
    },
  },
]
