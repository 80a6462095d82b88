import type { RegistryFlavour } from '../../../archive/registry-model.ts'

/** The features of a registry, derived from its vendor and version. */
export interface TargetTraits {
  flavour: RegistryFlavour
  /** Takes the ID and number of a version in mode IMPORT. */
  canImport: boolean
  hasModes: boolean
  /** A mode of a subject can be removed, not only changed. */
  canDeleteModes: boolean
  /** Keeps metadata and rule sets of schemas; what does not is not sent any. */
  keepsContracts: boolean
  /** Also in mode IMPORT. */
  keepsImportedContracts: boolean
  /** Keeps what a configuration says beyond a level. */
  keepsConfigs: boolean
  /** A subject that is not there yet can have a level. */
  hasEarlyLevels: boolean
  /** A subject may have the level NONE under a registry that has another; elsewhere NONE is the same as no level. */
  keepsLevelNone: boolean
  /** Takes `force` with a registration. */
  canForceRegister: boolean
  hasContexts: boolean
  /** JSON Schemas may refer to others. */
  hasJsonReferences: boolean
  /** One schema may have two IDs. */
  allowsTwinIds: boolean
  /** To which contexts a schema of a context can refer: its own alone, or any that has a name, which the default one has not. */
  contextReferences: 'own' | 'named'
  /** A subject may hold one schema twice when it is imported. */
  keepsImportedTwins: boolean
  /** In mode IMPORT, a schema may refer to a version that is marked as deleted. */
  importsDeletedReferences: boolean
  /** What only deleted versions refer to can be marked as deleted. */
  deletesReferredByDeleted: boolean
  /** Avro schemas that differ in nothing but `doc` and `aliases` are one. */
  ignoresDocs: boolean
  /** Ignores a configuration that has no level. */
  needsLevels: boolean
  /** Shows a level for a configuration that has none. */
  fillsLevels: boolean
  /** What numbers start again after: the removal of all versions, or only that of the subject as a whole. */
  numbersRestart: 'versions' | 'subject'
  /** A subject may have a slash in its name. */
  takesSlashes: boolean
}

/** What a registry of today can do. */
const able: Omit<TargetTraits, 'flavour'> = {
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
  contextReferences: 'named',
  keepsImportedTwins: true,
  importsDeletedReferences: true,
  deletesReferredByDeleted: true,
  ignoresDocs: false,
  needsLevels: false,
  fillsLevels: false,
  numbersRestart: 'versions',
  takesSlashes: true,
}

const axonops = {
  keepsImportedContracts: false,
  contextReferences: 'own',
  keepsImportedTwins: false,
  importsDeletedReferences: false,
  ignoresDocs: true,
  needsLevels: true,
  numbersRestart: 'subject',
  takesSlashes: false,
} as const

export function traitsOf(flavour: RegistryFlavour, version: string | null): TargetTraits {
  const [major = Infinity, minor = 0] = version?.match(/\d+/g)?.map(Number) ?? []
  const isFrom = (fromMajor: number, fromMinor: number) =>
    major > fromMajor || (major === fromMajor && minor >= fromMinor)
  const modern: TargetTraits = { flavour, ...able }
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
        fillsLevels: isFrom(7, 9),
      }
    case 'apicurio':
      return { ...modern, ...plain, canImport: false, hasModes: false, hasEarlyLevels: false, keepsLevelNone: false }
    case 'karapace': {
      // What reports no version is older than the releases that have modes.
      const canImport = version !== null && (isFrom(6, 3) || /^6\.2\.([4-9]|\d\d)/.test(version))
      const lacks = { hasModes: canImport, hasJsonReferences: false, deletesReferredByDeleted: false }
      return { ...modern, ...plain, canImport, ...lacks }
    }
    case 'redpanda': {
      const canImport = isFrom(25, 3)
      return { ...modern, ...plain, canImport, allowsTwinIds: canImport }
    }
    case 'axonops':
      return { ...modern, ...axonops }
    case 'other':
      return modern
    default:
      return flavour satisfies never
  }
}
