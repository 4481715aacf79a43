// Jest transformer: erases TypeScript's types with Node's own stripper, so that tests run the very
// text that `node src/start/api.ts` runs, with line numbers unchanged and no second compiler.
import { createHash } from 'node:crypto'
import { stripTypeScriptTypes } from 'node:module'

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
  getCacheKey: (source, path) =>
    createHash('sha256').update(process.version).update(path).update(source).digest('hex'),
}
