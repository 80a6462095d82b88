import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idNotFound, referenceNotFound, registrationFailed } from '../../../../src/registry/restore/plan/messages.ts'
import { traitsOf } from '../../../../src/registry/restore/plan/target-traits.ts'

test('messages begin as users know them, and end with what to do', () => {
  assert.match(
    registrationFailed('orders-value', 'it is incompatible'),
    /^Schema registration failed for subject orders-value: it is incompatible\. .*set_compatibility to NONE, or restore\.force_register to true/,
  )
  assert.match(
    idNotFound('5', 'no schema is the same', 'Restore the schemas first'),
    /^Schema ID 5 not found in target registry: no schema is the same\. Restore the schemas first$/,
  )
  assert.match(
    referenceNotFound('common', 'it is in no backup', 'Include it'),
    /^Reference to subject common not found: it is in no backup\. Include it$/,
  )
})

test('what a registry can do is known by its kind and version', () => {
  assert.deepEqual(
    ['6.2.0', '7.0.1', '7.4.0', '8.0.0-ce', null].map(version => {
      const { canDeleteModes, keepsContracts, canForceRegister } = traitsOf('confluent', version)
      return [canDeleteModes, keepsContracts, canForceRegister]
    }),
    [
      [false, false, false],
      [true, false, false],
      [true, true, false],
      [true, true, true],
      [true, true, false],
    ],
  )
  const imports = (flavour: Parameters<typeof traitsOf>[0], version: string) => traitsOf(flavour, version).canImport
  assert.deepEqual(
    [imports('karapace', '6.2.0'), imports('karapace', '6.2.4'), imports('karapace', '7.0.0')],
    [false, true, true],
  )
  assert.deepEqual([imports('redpanda', 'v24.3.1'), imports('redpanda', 'v25.3.1')], [false, true])
  assert.deepEqual([imports('apicurio', '3.3.1'), imports('other', '1')], [false, true])
})
