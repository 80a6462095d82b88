/** The values of the options that only `drill` has. */
export interface DrillOptions {
  topics: string[]
  evidence?: string | undefined
  sample?: string | undefined
  scratchPrefix?: string | undefined
  signingKey?: string | undefined
  publicKey?: string | undefined
  schemas: boolean
}
