// The operators' API with the console, for one file of browser tests: started before its tests.
import { afterAll, beforeAll } from '@jest/globals'
import { startAdminApi, type AdminApi } from './admin.ts'

/** Returns how to reach the API, which runs from the first test of the file to its last. */
export function consoleForFile(): () => AdminApi {
  let api: AdminApi
  beforeAll(async () => {
    api = await startAdminApi({ CONSOLE: 'on' })
  })
  afterAll(() => api.stop())
  return () => api
}
