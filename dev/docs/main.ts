// The process of `npm run configuration`: writes docs/configuration.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { configShape, readConfig } from '../../src/config.ts'
import { renderConfigurationPage } from './configuration-page.ts'

const root = new URL('../../', import.meta.url)

const example = readFileSync(new URL('.env.example', root), 'utf8')
const page = renderConfigurationPage(example, { shape: configShape, defaults: readConfig({}) })
writeFileSync(new URL('docs/configuration.md', root), page)
