import type { RegistryFlavour } from '../model.ts'

/** What a registry can do, as far as its kind and version tell. */
export interface TargetTraits {
  flavour: RegistryFlavour
  /** Takes the ID and number of a version in mode IMPORT. */
  canImport: boolean
  hasModes: boolean
  /** A mode of a subject can be taken back, not only changed. */
  canDeleteModes: boolean
  /** Keeps metadata and rule sets of schemas; what does not is not sent any. */
  keepsContracts: boolean
  /** Also in mode IMPORT. */
  keepsImportedContracts: boolean
  /** Keeps what a configuration says beyond a level. */
  keepsConfigs: boolean
  /** A subject that is not there yet can have a level. */
  hasEarlyLevels: boolean
  /** A subject may have the level NONE under a registry that has another; elsewhere it is the same as none of its own. */
  keepsLevelNone: boolean
  /** Takes `force` with a registration. */
  canForceRegister: boolean
  hasContexts: boolean
  /** JSON Schemas may refer to others. */
  hasJsonReferences: boolean
  /** One schema may have two IDs. */
  allowsTwinIds: boolean
}

export function traitsOf(flavour: RegistryFlavour, version: string | null): TargetTraits {
  const [major = Infinity, minor = 0] = version?.match(/\d+/g)?.map(Number) ?? []
  const isFrom = (fromMajor: number, fromMinor: number) =>
    major > fromMajor || (major === fromMajor && minor >= fromMinor)
  const modern: TargetTraits = {
    flavour,
    canImport: true,
    hasModes: true,
    canDeleteModes: true,
    keepsContracts: true,
    keepsImportedContracts: true,
    keepsConfigs: true,
    hasEarlyLevels: true,
    keepsLevelNone: true,
    canForceRegister: false,
    hasContexts: true,
    hasJsonReferences: true,
    allowsTwinIds: true,
  }
  const plain = { keepsContracts: false, keepsImportedContracts: false, keepsConfigs: false, hasContexts: false }
  switch (flavour) {
    case 'confluent':
      return {
        ...modern,
        canDeleteModes: isFrom(7, 0),
        keepsContracts: isFrom(7, 4),
        keepsImportedContracts: isFrom(7, 4),
        canForceRegister: version !== null && isFrom(8, 0),
        hasContexts: isFrom(7, 0),
        allowsTwinIds: isFrom(7, 0),
      }
    case 'apicurio':
      return { ...modern, ...plain, canImport: false, hasModes: false, hasEarlyLevels: false, keepsLevelNone: false }
    case 'karapace': {
      // What reports no version is older than the releases that have modes.
      const canImport = version !== null && (isFrom(6, 3) || /^6\.2\.([4-9]|\d\d)/.test(version))
      return { ...modern, ...plain, canImport, hasModes: canImport, hasJsonReferences: false }
    }
    case 'redpanda': {
      const canImport = isFrom(25, 3)
      return { ...modern, ...plain, canImport, allowsTwinIds: canImport }
    }
    case 'axonops':
      return { ...modern, keepsImportedContracts: false }
    case 'other':
      return modern
    default:
      return flavour satisfies never
  }
}
