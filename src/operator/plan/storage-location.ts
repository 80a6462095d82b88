const schemes: Record<string, string> = { s3: 's3', azure: 'az', gcs: 'gs' }

/** Where a spec keeps its backups, as `--path` of the command line takes it; of a volume, where it is mounted is unknown. */
export function formatLocation(storage: unknown): string {
  const { backend, bucket, container, prefix, pvc } = (storage ?? {}) as Record<string, unknown>
  const scheme = schemes[String(backend)]
  const folder = typeof prefix === 'string' && prefix !== '' ? `/${prefix.replace(/^\/+|\/+$/g, '')}` : ''
  if (scheme !== undefined) return `${scheme}://${bucket ?? container ?? ''}${folder}`
  const claim = (pvc as { claimName?: unknown } | undefined)?.claimName
  return `<mount of the volume claim ${typeof claim === 'string' ? claim : ''}>${folder}`
}
