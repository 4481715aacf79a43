// Jest transformer: parses a YAML file once and keeps it as JSON. To parse openapi.yaml takes half
// a second, which every file that sends an API request would pay.
import { createHash } from 'node:crypto'
import { parse } from 'yaml'

export default {
  process: (source) => ({ code: `module.exports = ${JSON.stringify(parse(source))}` }),
  getCacheKey: (source, path) => createHash('sha256').update(path).update(source).digest('hex'),
}
