// Jest transformer: removes types with Node's own type stripping. Tests therefore run the same text
// as `node src/start/api.ts`, with the same line numbers and without a second compiler.
import { createHash } from 'node:crypto'
import { stripTypeScriptTypes } from 'node:module'

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) }),
  getCacheKey: (source, path) =>
    createHash('sha256').update(process.version).update(path).update(source).digest('hex'),
}
