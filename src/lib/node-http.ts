/**
 * node:http and node:https, not imported: an import reads every export, and with them those that load the runtime's own fetch
 * and WebSocket. That takes longer than all else at the start of a command.
 */
export const nodeHttp = process.getBuiltinModule('node:http')
export const nodeHttps = process.getBuiltinModule('node:https')
