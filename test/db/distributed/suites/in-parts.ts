// Import this before the tests of a file: their statements are executed in parts then, as with Citus.
process.env['TEST_IN_PARTS'] = 'true'
