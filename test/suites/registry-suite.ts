import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openRegistryClient } from '../../src/registry/client/client.ts'
import { probeRegistry } from '../../src/registry/probe/probe-registry.ts'
import { RegistryClient } from './registry-client.ts'
import { describeContexts } from './registry-contexts.ts'
import { describeDeletes } from './registry-deletes.ts'
import { describeLists } from './registry-lists.ts'
import { describeImport, describeReadOnly } from './registry-modes.ts'
import { describeReferences } from './registry-references.ts'
import { describeContracts, describeRegistration } from './registry-registration.ts'
import { describeAliases, describeConfigs, describeLevels } from './registry-settings.ts'

export interface OpenedRegistry {
  url: string
  headers?: Record<string, string>
  close(): Promise<void>
}

/** What a registry has beyond the common core. What it does not have is not asked for. */
export interface RegistryFeatures {
  /** Ids and version numbers as they are sent, while a mode is IMPORT. */
  hasImport: boolean
  /** READONLY is enforced, for the registry and for subjects. */
  hasModes: boolean
  hasContexts: boolean
  /** GET /schemas, in pages, with subjects, versions and ids. */
  hasSchemaList: boolean
  /** A config that is not set answers 40408; elsewhere it is that of the registry. */
  hasUnsetConfigs: boolean
  /** A soft-deleted subject and its versions are listed and read with `deleted=true`, and are deleted for good after. */
  hasSoftDelete: boolean
  /** A version that others refer to cannot be deleted: 42206. */
  hasReferenceChecks: boolean
  /** Metadata and rules are kept. */
  hasContracts: boolean
  hasAliases: boolean
}

export type ClientOf = () => RegistryClient

/**
 * How a registry of the Confluent API behaves, as our tools rely on it. Each test keeps to subjects of its own, so that a
 * registry may be shared; modes of the whole registry are put back. A number such as (case 5) is that of the list of
 * edge cases of which each has a test.
 */
export function registrySuite(name: string, features: RegistryFeatures, open: () => Promise<OpenedRegistry>): void {
  describe(name, () => {
    let opened: OpenedRegistry
    let client: RegistryClient
    const registry: ClientOf = () => client
    before(async () => {
      opened = await open()
      client = new RegistryClient(opened.url, opened.headers)
    })
    after(() => opened.close())

    describeRegistration(registry)
    describeReferences(registry, features)
    describeDeletes(registry, features)
    describeConfigs(registry, features)
    describeLevels(registry)
    if (features.hasSchemaList) describeLists(registry)
    if (features.hasContracts) describeContracts(registry)
    if (features.hasContexts) describeContexts(registry, features)
    if (features.hasModes) describeReadOnly(registry)
    if (features.hasImport) describeImport(registry)
    if (features.hasAliases) describeAliases(registry)

    test('a probe finds the features that this suite is run with, and leaves nothing behind', async () => {
      const { features: seen, leftBehind } = await probe(opened)
      const has = (name: string) => seen.find(one => one.name === name)?.has
      assert.deepEqual(leftBehind, [])
      assert.deepEqual(
        {
          hasImport: has('import'),
          hasModes: has('modes'),
          hasContexts: has('contexts'),
          hasSchemaList: has('schema_list'),
          hasUnsetConfigs: has('unset_settings'),
          hasContracts: has('metadata') && has('rule_sets'),
          hasAliases: has('settings_without_level'),
        },
        {
          ...{ hasImport: features.hasImport, hasModes: features.hasModes, hasContexts: features.hasContexts },
          ...{ hasSchemaList: features.hasSchemaList, hasUnsetConfigs: features.hasUnsetConfigs },
          ...{ hasContracts: features.hasContracts, hasAliases: features.hasAliases },
        },
      )
    })
  })
}

async function probe({ url }: OpenedRegistry) {
  const client = await openRegistryClient({ urls: [url] })
  try {
    const options = { isWriting: true, onWrite: () => undefined, onLeftBehind: () => undefined }
    return await probeRegistry(client, options, new AbortController().signal)
  } finally {
    client.close()
  }
}
