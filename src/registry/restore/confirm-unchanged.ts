import { DEFAULT_CONTEXT, splitSubject } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import type { RegistryClient } from '../client/client.ts'
import { identityOf } from '../client/flavour.ts'
import { readInventory } from '../client/inventory.ts'
import { importKey } from './plan/restore-step.ts'
import type { Survey } from './survey-target.ts'

/**
 * Fails where others have registered versions since the target was read: an import would replace a version of the same
 * number without an error. Versions of the plan itself that show only now are of an earlier write of this restore, which a
 * lagging follower had not shown. To be called in mode IMPORT, in which a registry takes no versions of others.
 */
export async function confirmUnchanged(
  client: RegistryClient,
  { plan, target, options: { traits } }: Survey,
  signal: AbortSignal,
): Promise<void> {
  const contextOf = (subject: string) => (traits.hasContexts ? splitSubject(subject).context : DEFAULT_CONTEXT)
  const written = new Set(plan.steps.flatMap(step => (step.type === 'register' ? [contextOf(step.subject)] : [])))
  const planned = plan.steps.flatMap(step =>
    step.type === 'register' && step.id !== null ? [importKey({ ...step, id: step.id })] : [],
  )
  const known = new Set([...target.versions.map(importKey), ...planned])
  const { versions } = await readInventory(client, identityOf(target), { isWanted: () => true }, signal)
  const added = versions.filter(one => written.has(contextOf(one.subject)) && !known.has(importKey(one)))
  const [first] = added
  if (!first) return
  const more = added.length > 1 ? ` and ${added.length - 1} more` : ''
  const message =
    `the target registry has changed since it was read: it has version ${first.version} of subject ${first.subject} ` +
    `(ID ${first.id})${more} now, and with restore.force_ids the restore could replace it or need its ID; nothing was registered`
  throw new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Stop what registers schemas there, then run the command again: it reports what conflicts before it writes.',
  })
}
