import { faults } from '../../src/registry/serve/registry-fault.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'

/** Refuses every change of a mode, as a Confluent registry with `mode.mutability=false` does. */
export class FixedModeStore extends RegistryStore {
  override setMode(): never {
    throw faults.notPermitted('Mode changes are not allowed')
  }

  override deleteMode(): never {
    throw faults.notPermitted('Mode changes are not allowed')
  }
}
