import type { Job } from '../config/load-job.ts'
import { attempt, type Check } from '../observe/check.ts'
import { registryOf, withRegistry } from './registry.ts'

/** Whether the registry of a job answers with its subjects, to whoever logs in so; nothing where the job has none. */
export async function checkRegistry(job: Pick<Job, 'enterprise'>, signal: AbortSignal): Promise<Check[]> {
  const registry = registryOf(job)
  if (!registry) return []
  return withRegistry(registry, async client => {
    const { detectFlavour } = await import('../registry/client/flavour.ts')
    const check = await attempt(`schema registry ${client.name}`, 'read', signal, async () => {
      const { flavour, version } = await detectFlavour(client, signal)
      return `${flavour}${version === null ? '' : ` ${version}`} answers`
    })
    return [check]
  })
}
