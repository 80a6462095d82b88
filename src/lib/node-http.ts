/**
 * node:http and node:https, not imported: an import reads every export, and with them those that load the runtime's own fetch
 * and WebSocket. That takes longer than all else at the start of a command. They are loaded when they are first used: a backup in a
 * folder needs neither.
 */
export const nodeHttp: typeof import('node:http') = whenUsed(() => process.getBuiltinModule('node:http'))
export const nodeHttps: typeof import('node:https') = whenUsed(() => process.getBuiltinModule('node:https'))
/** node:tls, loaded like these: it also reads the certificates of NODE_EXTRA_CA_CERTS, which a connection without TLS does not need. */
export const nodeTls: typeof import('node:tls') = whenUsed(() => process.getBuiltinModule('node:tls'))

function whenUsed<T extends object>(load: () => T): T {
  return new Proxy({} as T, { get: (_, name) => Reflect.get(load(), name) })
}
