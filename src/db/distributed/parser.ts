// Loads the parser at the first statement with a distributed table: it takes 40 ms and 24 MB, which
// nobody else needs. It is PostgreSQL's own parser, and writes a tree as text again.
import { createRequire } from 'node:module'
import type * as Parser from 'pgsql-parser'

const require = createRequire(import.meta.url)

export const loadParser = (): typeof Parser => require('pgsql-parser') as typeof Parser
