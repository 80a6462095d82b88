import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TokenService {
  url: string
  /** The web identity tokens that were shown. */
  readonly tokens: readonly string[]
  close(): Promise<void>
}

/** Answers AssumeRoleWithWebIdentity as AWS STS does, with credentials that are given. */
export async function startTokenService(credentials: {
  accessKeyId: string
  secretAccessKey: string
}): Promise<TokenService> {
  const tokens: string[] = []
  const server = createServer(async (incoming, answer) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    const form = new URLSearchParams(body)
    tokens.push(form.get('WebIdentityToken') ?? '')
    const expiration = new Date(Date.now() + 3_600_000).toISOString()
    answer.writeHead(200, { 'content-type': 'text/xml' })
    answer.end(`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult><Credentials>
    <AccessKeyId>${credentials.accessKeyId}</AccessKeyId><SecretAccessKey>${credentials.secretAccessKey}</SecretAccessKey>
    <SessionToken></SessionToken><Expiration>${expiration}</Expiration>
  </Credentials></AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokens,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
