import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeEvidence } from '../../src/drill/evidence.ts'
import { signBytes, signerOf } from '../../src/drill/sign-evidence.ts'
import { evidenceInBackup } from '../../src/jobs/drill-place.ts'
import { verifyNewestEvidence } from '../../src/jobs/verify-drill.ts'
import { drillEvidence } from '../cli/fake-actions.ts'
import { withFolder } from '../e2e/backup-job.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal
const { privateKey, publicKey } = generateKeyPairSync('ed25519')

/** Verifies evidence of backup `orders` that is stored in the folder of a backup under the name. */
async function problemsOf(backupId: string, name: string): Promise<string[]> {
  const storage = openMemoryStorage()
  const bytes = encodeEvidence({ ...drillEvidence, signer: signerOf(privateKey) }, { text: '', html: '' })
  const files = evidenceInBackup(storage, backupId).storage
  await files.create(`${backupId}/drills/${name}/evidence.json`, bytes, never)
  await files.create(`${backupId}/drills/${name}/evidence.json.sig`, signBytes(bytes, privateKey), never)
  let problems: string[] = []
  await withFolder(async folder => {
    const file = join(folder, 'drill.pub')
    await writeFile(file, publicKey.export({ type: 'spki', format: 'pem' }))
    const verified = await verifyNewestEvidence(storage, { backupId, publicKey: file }, never)
    assert.equal(verified.ok, verified.problems.length === 0)
    problems = verified.problems
  })
  return problems
}

const own = '20251115t100000000z-0123456789abcdef'

test('the newest evidence of a backup is authentic in the folder that its drill wrote', async () => {
  assert.deepEqual(await problemsOf('orders', own), [])
})

test('signed evidence of another backup, or of an older drill under a newer name, is refused', async () => {
  assert.deepEqual(await problemsOf('payments', own), [
    `the evidence was copied here: it is that of orders/drills/${own}, and its folder is payments/drills/${own}`,
  ])
  assert.match(String(await problemsOf('orders', '20261115t100000000z-0123456789abcdef')), /was copied here/)
})
