import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun } from './run-command.ts'

/** Paths of PEM files. */
export interface Certificates {
  ca: string
  /** A CA that has signed nothing here. */
  otherCa: string
  cert: string
  key: string
}

/** A CA of one's own and a certificate of it for 127.0.0.1. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const at = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => mustRun('openssl', args, { cwd: folder })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  for (const name of ['ca', 'other-ca']) {
    await openssl(
      'req',
      '-x509',
      ...newKey,
      '-days',
      '2',
      '-subj',
      `/CN=test ${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.pem`,
    )
  }
  await openssl('req', ...newKey, '-subj', '/CN=127.0.0.1', '-keyout', 'server.key', '-out', 'server.csr')
  await writeFile(at('server.ext'), 'subjectAltName=IP:127.0.0.1\n')
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'server.ext']
  await openssl('x509', '-req', '-in', 'server.csr', ...sign, '-out', 'server.pem')
  return { ca: at('ca.pem'), otherCa: at('other-ca.pem'), cert: at('server.pem'), key: at('server.key') }
}
