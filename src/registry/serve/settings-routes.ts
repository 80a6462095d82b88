import type { Route } from './route.ts'

/** Configs and modes: of the registry or a context without a subject, else of the subject. */
export const settingsRoutes: readonly Route[] = ['', '/{subject}'].flatMap((end): Route[] => [
  {
    method: 'GET',
    path: `/config${end}`,
    handle: call => ({ json: call.store.config(call.scope, call.flag('defaultToGlobal')) }),
  },
  {
    method: 'PUT',
    path: `/config${end}`,
    handle: call => {
      const { body } = call
      call.store.updateConfig(call.scope, body)
      return { json: body }
    },
  },
  { method: 'DELETE', path: `/config${end}`, handle: call => ({ json: call.store.deleteConfig(call.scope) }) },
  {
    method: 'GET',
    path: `/mode${end}`,
    handle: call => ({ json: { mode: call.store.mode(call.scope, call.flag('defaultToGlobal')) } }),
  },
  {
    method: 'PUT',
    path: `/mode${end}`,
    handle: call => ({ json: { mode: call.store.setMode(call.scope, call.body.mode, call.flag('force')) } }),
  },
  { method: 'DELETE', path: `/mode${end}`, handle: call => ({ json: { mode: call.store.deleteMode(call.scope) } }) },
])
