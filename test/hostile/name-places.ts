import type { HostileItem } from './corpus.ts'
import type { Forgery, Tree } from './forgery.ts'

type Put = (archive: Forgery, text: string) => void
export interface PlaceOfName {
  what: string
  put: Put
  isAccepted?: HostileItem['isAccepted']
}

const inManifest = (set: (tree: Tree, text: string) => unknown): Put => {
  return (archive, text) => archive.manifest(tree => void set(tree, text))
}
const inGroups = (set: (tree: Tree, text: string) => unknown): Put => {
  return (archive, text) => archive.named(/^plain\/kafka\/groups-2/, tree => void set(tree, text))
}
const inMetadata = (set: (tree: Tree, text: string) => unknown): Put => {
  return (archive, text) => archive.named(/generations\/.*\/orders-value\/metadata.json$/, tree => void set(tree, text))
}
const inSettings = (set: (tree: Tree, text: string) => unknown): Put => {
  return (archive, text) => archive.named(/generations\/[^/]+\/_schemas.json$/, tree => void set(tree, text))
}
const inSnapshot = (set: (tree: Tree, text: string) => unknown): Put => {
  return (archive, text) => archive.reseal(archive.find(/^offset-snapshots\//), tree => void set(tree, text))
}

/** Free text: whatever stands there is shown, and must not do more than that. */
const accepted = true as const

/** Where an archive holds text that somebody may choose. */
export const namePlaces: readonly PlaceOfName[] = [
  {
    what: 'the name of a topic',
    put: inManifest((tree, text) => {
      tree.topics[0].name = text
    }),
  },
  {
    what: 'the id of a topic',
    put: inManifest((tree, text) => {
      tree.topics[0].id = text
    }),
  },
  {
    what: 'a setting of a topic',
    put: inManifest((tree, text) => {
      tree.topics[0].configs[text] = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'an inherited setting',
    put: inManifest((tree, text) => {
      tree.topics[0].effective_configs = { [text]: text, 'cleanup.policy': text }
    }),
    isAccepted: accepted,
  },
  {
    what: 'the id of the backup',
    put: inManifest((tree, text) => {
      tree.backup_id = text
    }),
  },
  {
    what: 'the run',
    put: inManifest((tree, text) => {
      tree.run = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the version of the program',
    put: inManifest((tree, text) => {
      tree.tool_version = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the time of a manifest',
    put: inManifest((tree, text) => {
      tree.created_at = tree.started_at = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the id of the cluster',
    put: inManifest((tree, text) => {
      tree.cluster.id = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the selection',
    put: inManifest((tree, text) => {
      tree.selection.include = [text]
    }),
    isAccepted: accepted,
  },
  { what: 'a warning', put: inManifest((tree, text) => tree.warnings.push(text)), isAccepted: accepted },
  {
    what: 'the time of a gap',
    put: inManifest((tree, text) =>
      tree.topics[0].partitions[0].gaps.push({ from: 4, to: null, reason: 'unreadable', found_at: text }),
    ),
    isAccepted: accepted,
  },
  {
    what: 'why groups could not be read',
    put: inManifest((tree, text) => {
      tree.consumer_groups = { state: 'failed', taken_at: text, error: text }
    }),
    isAccepted: accepted,
  },
  {
    what: 'the time of a schema snapshot',
    put: inManifest((tree, text) => {
      tree.schema_registry.backup_timestamp = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the version of a registry',
    put: inManifest((tree, text) => {
      tree.schema_registry.schema_registry_version = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'an id of the id mapping',
    put: inManifest((tree, text) => {
      Object.defineProperty(tree.schema_registry.id_mapping, text, { value: text, enumerable: true })
    }),
    isAccepted: 'or refused',
  },
  {
    what: 'the name of a subject',
    put: (archive, text) => {
      archive.manifest(tree => {
        tree.schema_registry.subjects[2].name = text
      })
      archive.named(/generations\/.*\/orders-value\/metadata.json$/, tree => {
        tree.subject = text
      })
    },
    isAccepted: accepted,
  },
  {
    what: 'a compatibility level',
    put: inMetadata((tree, text) => {
      tree.compatibility = tree.mode = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'a schema guid',
    put: inMetadata((tree, text) => {
      tree.versions[0].guid = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'a reference of a schema',
    put: inMetadata((tree, text) => {
      tree.versions[0].references = [{ name: text, subject: text, version: 1 }]
    }),
    isAccepted: accepted,
  },
  {
    what: 'settings of a subject',
    put: inMetadata((tree, text) => {
      tree.config = { [text]: { [text]: [text] }, alias: text }
    }),
    isAccepted: accepted,
  },
  {
    what: 'metadata and rules of a schema',
    put: inMetadata((tree, text) => {
      tree.versions[0].metadata = tree.versions[0].rule_set = { [text]: text }
    }),
    isAccepted: accepted,
  },
  {
    what: 'the text of a schema',
    put: inMetadata((tree, text) => {
      tree.versions[0].schema = text
    }),
    isAccepted: accepted,
  },
  { what: 'a context', put: inSettings((tree, text) => tree.contexts.push(text)), isAccepted: accepted },
  {
    what: 'settings of a context',
    put: inSettings((tree, text) => {
      tree.context_settings.push({ context: text, compatibility: text, mode: text, config: { [text]: text } })
      tree.max_ids[text] = 5
      tree.warnings.push(text)
    }),
    isAccepted: accepted,
  },
  {
    what: 'the name of a group',
    put: inGroups((tree, text) => {
      tree.groups[0].group = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the topic of a position',
    put: inGroups((tree, text) => {
      tree.groups[0].positions[0].topic = text
    }),
    isAccepted: 'or refused',
  },
  {
    what: 'the metadata of a position',
    put: inGroups((tree, text) => {
      tree.groups[0].positions[0].metadata = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the state and error of a group',
    put: inGroups((tree, text) => Object.assign(tree.groups[0], { state: text, error: text })),
    isAccepted: accepted,
  },
  {
    what: 'an undecided topic',
    put: inGroups((tree, text) => {
      tree.groups[0].undecided = [{ topic: text, partition: 0 }]
    }),
    isAccepted: accepted,
  },
  {
    what: 'a group that is left out',
    put: inGroups((tree, text) => tree.left_out.push({ group: text, type: text })),
    isAccepted: accepted,
  },
  {
    what: 'the group of a snapshot',
    put: inSnapshot((tree, text) => {
      tree.groups[0].group = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the topic of a snapshot',
    put: inSnapshot((tree, text) => {
      tree.groups[0].positions[0].topic = text
    }),
    isAccepted: accepted,
  },
  {
    what: 'the state of a snapshot',
    put: inSnapshot((tree, text) => Object.assign(tree.groups[0], { state: text, type: text, error: text })),
    isAccepted: accepted,
  },
  {
    what: 'the id of a snapshot',
    put: inSnapshot((tree, text) => Object.assign(tree, { snapshot_id: text, created_at: text, cluster_id: text })),
    isAccepted: accepted,
  },
  {
    what: 'the holder of a lease',
    put: (archive, text) => archive.put('plain/leases/0000000a.json', JSON.stringify(leaseOf(text))),
    isAccepted: accepted,
  },
  {
    what: 'a mark of a prune',
    put: (archive, text) =>
      archive.put('plain/manifests/pruned.json', JSON.stringify({ reason: text, host: text, backup_id: text })),
  },
  { what: 'the access rules', put: putAccess, isAccepted: accepted },
  {
    what: 'a list of copies',
    put: (archive, text) =>
      archive.reseal('plain/schema-registry/current.json', tree => {
        tree.files[text] = '0'.repeat(64)
      }),
    isAccepted: accepted,
  },
]

function leaseOf(text: string): object {
  const head = { format: 'kafka-backup-lease', format_version: 1, role: 'writer', pid: 1, ttl_ms: 1 }
  return { ...head, kind: text, run: text, host: text, tool_version: text, started_at: text, renewed_at: text }
}

function putAccess(archive: Forgery, text: string): void {
  const acl = { resource_type: text, resource_name: text, pattern_type: text, principal: text }
  const acls = [{ ...acl, host: text, operation: text, permission: text }]
  const quotas = [{ entity: [{ type: text, name: text }], key: text, value: text }]
  const users = [{ user: text, mechanism: text, iterations: 4096 }]
  const key = 'plain/kafka/access-2.0000000a.json'
  archive.manifest(tree => {
    const taken = { state: 'taken', count: 1 }
    tree.access = { taken_at: text, key, size: 0, blake3: '0'.repeat(64), acls: taken, quotas: taken, users: taken }
  })
  archive.namedBytes(
    key,
    Buffer.from(JSON.stringify({ format: 'kafka-backup-access', format_version: 1, acls, quotas, users })),
  )
}
