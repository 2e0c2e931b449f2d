// ISO C wants something in each file, which a header of macros alone does not give.
typedef int tilewright_test_of_a_header;
