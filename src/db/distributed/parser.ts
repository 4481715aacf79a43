// Loads PostgreSQL's own parser, which turns a statement into a tree, and a tree into a statement. It
// takes 40 ms and 24 MB. So it is loaded at the first statement for distributed tables.
import { createRequire } from 'node:module'
import type * as Parser from 'pgsql-parser'

const require = createRequire(import.meta.url)

export const loadParser = (): typeof Parser => require('pgsql-parser') as typeof Parser
