/** A rule of access, with the numbers that the protocol has for its kinds. */
export interface WireAcl {
  resourceType: number
  resourceName: string
  patternType: number
  principal: string
  host: string
  operation: number
  permission: number
}
