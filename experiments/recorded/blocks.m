% A program as Octave's users write it: many products of small blocks.
rand ("seed", 1);
for n = repmat ([8 16 32 48], 1, str2double (argv (){1}))
  a = rand (n) / n; c = eye (n);
  for i = 1:3000
    c = a * c + a';
  end
end
printf ("%g\n", sum (c(:)));
