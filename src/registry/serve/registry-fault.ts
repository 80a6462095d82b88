/** A refusal in the words of the Confluent API: the code's first three digits are the HTTP status. */
export class RegistryFault extends Error {
  readonly errorCode: number

  constructor(errorCode: number, message: string) {
    super(message)
    this.name = 'RegistryFault'
    this.errorCode = errorCode
  }

  get status(): number {
    return this.errorCode < 1000 ? this.errorCode : Math.floor(this.errorCode / 100)
  }
}

/** Every refusal that clients recognize by its code. */
export const faults = {
  subjectNotFound: (subject: string) => new RegistryFault(40401, `Subject '${subject}' not found.`),
  versionNotFound: (version: number | string) => new RegistryFault(40402, `Version ${version} not found.`),
  schemaNotFound: (id?: number | string) =>
    new RegistryFault(40403, id === undefined ? 'Schema not found' : `Schema ${id} not found`),
  subjectSoftDeleted: (subject: string) =>
    new RegistryFault(40404, `Subject '${subject}' was soft deleted. Set permanent=true to delete permanently`),
  subjectNotSoftDeleted: (subject: string) =>
    new RegistryFault(40405, `Subject '${subject}' was not deleted first before being permanently deleted`),
  versionSoftDeleted: (subject: string, version: number) =>
    new RegistryFault(
      40406,
      `Subject '${subject}' Version ${version} was soft deleted. Set permanent=true to delete permanently`,
    ),
  versionNotSoftDeleted: (subject: string, version: number) =>
    new RegistryFault(
      40407,
      `Subject '${subject}' Version ${version} was not deleted first before being permanently deleted`,
    ),
  configNotSet: (subject: string) =>
    new RegistryFault(40408, `Subject '${subject}' does not have subject-level compatibility configured`),
  modeNotSet: (subject: string) =>
    new RegistryFault(40409, `Subject '${subject}' does not have subject-level mode configured`),
  incompatible: (reasons: readonly string[]) =>
    new RegistryFault(
      40901,
      `Schema being registered is incompatible with an earlier schema, details: [${reasons.join(', ')}]`,
    ),
  invalidSchema: (why: string) => new RegistryFault(42201, `Invalid schema: ${why}`),
  referenceNotFound: (subject: string, version: number) =>
    new RegistryFault(42201, `No schema reference found for subject "${subject}" and version ${version}`),
  invalidVersion: (version: string) =>
    new RegistryFault(
      42202,
      `The specified version '${version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest"`,
    ),
  invalidLevel: () =>
    new RegistryFault(
      42203,
      'Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, forward_transitive, and full_transitive',
    ),
  invalidMode: () =>
    new RegistryFault(42204, 'Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, and IMPORT'),
  notPermitted: (why: string) => new RegistryFault(42205, why),
  referenceExists: (subject: string, version: number) =>
    new RegistryFault(42206, `One or more references exist to the schema {subject=${subject},version=${version}}.`),
  invalidSubject: (subject: string) => new RegistryFault(42208, `The specified subject '${subject}' is not valid.`),
  formatUnsupported: () =>
    new RegistryFault(422, 'This registry serves Protobuf schemas as text only, not with format=serialized'),
  badRequest: (why: string) => new RegistryFault(400, why),
} as const
