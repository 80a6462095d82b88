import type { FieldPath } from '../../config/problem.ts'
import type { EnvVar, SecretUse, Volume, VolumeMount } from './job-pod.ts'

/** Not below the folder of the job file, in which nothing else can be mounted. */
export const filesFolder = '/etc/kafka-backup-files'
const filesVolume = 'kafka-backup-files'
const storageVolume = 'kafka-backup-storage'

/** Where the claim of `storage.pvc` is mounted. */
export const storageFolder = '/backups'

/** Files of a volume belong to root, and the process runs as another user. */
const readableByAll = 0o444

export type KeyRef = { name: string; key: string }
export type Claim = { claimName: string; subPath?: string }

/** What the pod needs for the job file, collected while the job file is written. The API server vouches for the form of references. */
export class JobNeeds {
  readonly env: EnvVar[] = []
  readonly secrets: SecretUse[] = []
  readonly #files: unknown[] = []
  readonly #variables = new Set<string>()
  #claim: Claim | undefined

  /** Adds a variable with the key of a secret; returns the reference for the job file. */
  addVariable(jobPath: FieldPath, ref: KeyRef, specPath: FieldPath): string {
    const name = `SECRET_${jobPath
      .join('_')
      .replaceAll(/[^A-Za-z0-9]/g, '_')
      .toUpperCase()}`
    this.#variables.add(jobPath.join('.'))
    this.env.push({ name, valueFrom: { secretKeyRef: { name: ref.name, key: ref.key } } })
    this.secrets.push({ name: ref.name, key: ref.key, field: formatField(specPath) })
    return `\${${name}}`
  }

  /** Adds a file with the key of a secret or a ConfigMap; returns its path. */
  addFile(source: 'secret' | 'configMap', jobPath: FieldPath, ref: KeyRef, specPath: FieldPath): string {
    const path = jobPath.join('.')
    this.#files.push({ [source]: { name: ref.name, items: [{ key: ref.key, path }] } })
    if (source === 'secret') this.secrets.push({ name: ref.name, key: ref.key, field: formatField(specPath) })
    return `${filesFolder}/${path}`
  }

  /** Whether the value comes from a secret, so it cannot be checked here. */
  isVariable(jobPath: FieldPath): boolean {
    return this.#variables.has(jobPath.join('.'))
  }

  addClaim({ claimName, subPath }: Claim): string {
    this.#claim = { claimName, ...(subPath ? { subPath } : {}) }
    return storageFolder
  }

  volumes(): Volume[] {
    const volumes: Volume[] = []
    if (this.#files.length > 0) {
      volumes.push({ name: filesVolume, projected: { defaultMode: readableByAll, sources: this.#files } })
    }
    if (this.#claim) {
      volumes.push({ name: storageVolume, persistentVolumeClaim: { claimName: this.#claim.claimName } })
    }
    return volumes
  }

  mounts(): VolumeMount[] {
    const mounts: VolumeMount[] = []
    if (this.#files.length > 0) mounts.push({ name: filesVolume, mountPath: filesFolder, readOnly: true })
    if (this.#claim) {
      const { subPath } = this.#claim
      mounts.push({ name: storageVolume, mountPath: storageFolder, ...(subPath === undefined ? {} : { subPath }) })
    }
    return mounts
  }
}

/** The claim that a pod stores its backups in; undefined where it uses a bucket. */
export function claimOf({ spec }: { spec?: Record<string, unknown> }): string | undefined {
  const volumes = Array.isArray(spec?.volumes) ? (spec.volumes as Volume[]) : []
  const [claim] = volumes.flatMap(({ name, persistentVolumeClaim }) =>
    name === storageVolume ? [persistentVolumeClaim] : [],
  )
  return (claim as { claimName?: string } | undefined)?.claimName
}

function formatField(path: FieldPath): string {
  return path
    .map((segment, index) => (typeof segment === 'number' ? `[${segment}]` : `${index > 0 ? '.' : ''}${segment}`))
    .join('')
}
