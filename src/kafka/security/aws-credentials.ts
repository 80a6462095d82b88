import { defaultProvider } from '@aws-sdk/credential-provider-node'

/** The default chain of the AWS SDK. Imported by the first login only: it takes a while to load. */
export function openCredentialChain(profile: string | undefined) {
  return defaultProvider(profile === undefined ? {} : { profile })
}
